"""A part of a sweep to which no case falls: it ends well, and leaves a run that says so."""


def test_a_shard_without_a_case_ends_well_and_leaves_a_run(seqsweep, project, tmp_path):
    said = seqsweep("run", "--shard", "999/999", "--results", str(tmp_path))
    assert (said.code, "shard 999/999 has no case of this sweep" in said.err) == (0, True)
    collected = seqsweep("collect", str(tmp_path), "--results", str(tmp_path / "all"))
    assert collected.code == 0
    assert "shards 999 of 999, 0 records" in collected.out + collected.err
