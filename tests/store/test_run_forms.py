"""Files of a run with an invalid form are reported as problems, and the other files are read."""

import json

import pytest

from harness.core.errors import UsageError
from harness.store.runs import RunFolder
from harness.store.stored_run import FINGERPRINTS, INFO

SUITE = {"family": "mask", "cases": []}
INFOS = [
    [], {"suites": {"mask": None}}, {"suites": {"mask": {"family": "mask"}}}, {"command": "seqsweep run"},
    {"suites": {"mask": {**SUITE, "implementations": ["no family"]}}}, {"largest": [{"suite": "mask"}]},
    {"shard": {"index": 1, "count": 10**12, "sweep": "cafe"}}, {"shards": {"one": {"suites": 3}}},
]  # fmt: skip


@pytest.mark.parametrize("info", INFOS, ids=map(str, INFOS))
def test_a_run_json_of_another_form_is_a_problem_like_a_damaged_one(folder, record, info):
    folder.append([record(1)])
    (folder.path / INFO).write_text(json.dumps(info))
    stored = RunFolder(folder.path).read()
    assert (stored.info, [one.seq for one in stored.records]) == ({}, [1])
    (problem,) = stored.problems
    assert problem.startswith(f"{folder.path / INFO}: has an invalid form (")
    assert problem.endswith("; restore it, or name another run")


def test_a_run_json_of_a_later_version_is_not_read(folder):
    (folder.path / INFO).write_text(json.dumps({"schema": 2, "suites": {}}))
    with pytest.raises(UsageError, match=r"run\.json: schema 2 is not 1; use the seqsweep that wrote it"):
        _ = RunFolder(folder.path).info


def test_unknown_fields_are_kept(folder):
    info = {"suites": {"mask": {**SUITE, "later": [1]}}, "later": {"x": None}, "shard": None}
    (folder.path / INFO).write_text(json.dumps(info))
    assert RunFolder(folder.path).info == info


@pytest.mark.parametrize("facts", ["a processor", {"gpu": "x"}, {"memory_gib": -1}])
def test_fingerprints_of_another_form_are_a_problem_too(folder, facts):
    (folder.path / FINGERPRINTS).write_text(json.dumps({"sha256:1": facts}))
    problems = []
    assert folder.info_with_fingerprints(problems)["fingerprints"] == {}
    (problem,) = problems
    assert f"{FINGERPRINTS}: has an invalid form (" in problem
