"""A file of captured inputs, from the command line to the record."""

import numpy as np

TOPK = ("run", "--family=topk", "--impl=partition,exact", "--set=topk=8", "--budget=20ms", "--json")


def scores(folder, rows=4, seq=512):
    drawn = np.random.default_rng(0).standard_normal((1, rows, seq), dtype=np.float32)
    np.savez(folder / "scores.npz", scores=drawn)


def test_a_captured_file_is_measured_with_drawn_inputs_and_a_changed_one_is_another_case(seqsweep, project):
    scores(project)
    words = (*TOPK, "--seq", "256,512", "--set", "rows=4", "--set", "distribution=iid,scores.npz")
    said = seqsweep(*words)
    assert said.code == 0, said.err
    records = said.json["records"]
    assert [record["status"] for record in records] == ["ok"] * 8
    named = {record["workload"]["distribution"] for record in records}
    assert len(named) == 2
    (first,) = named - {"iid"}
    assert first.startswith("scores.npz#")
    warned = [
        r["workload"]["distribution"]
        for r in records
        if any("captured" in w for w in r["timing"]["warnings"])
    ]
    assert warned == [first] * 4
    scores(project, rows=5)
    again = str(seqsweep(*words, "--dry-run").json["suites"])
    assert "distribution=scores.npz#" in again
    assert first not in again


def test_a_missing_tensor_is_named_and_nothing_is_measured(seqsweep, project):
    scores(project)
    said = seqsweep(*TOPK, "--seq", "1Ki", "--set", "rows=4", "--set", "distribution=scores.npz")
    assert said.code == 3
    reasons = {record["reason"] for record in said.json["records"]}
    (reason,) = reasons
    assert 'scores.npz: tensor "scores" has shape [1, 4, 512], expected at least [1, 4, 1024]' in reason
    said = seqsweep(*TOPK, "--seq", "256", "--set", "rows=4", "--set", "distribution=none.npz")
    assert said.code == 2
    assert "--set distribution: none.npz cannot be read (No such file or directory)" in said.err
