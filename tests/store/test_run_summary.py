"""A run in short: what its files say, and what is left to say where they are damaged."""

import pytest

from harness.core.record import Correctness
from harness.store.run_summary import summarise
from harness.store.runs import run_lock

FACTS = {"git": {"commit": "31dd830c09de", "dirty": True}, "load": [1.0]}
WRONG = Correctness("exact", passed=False, coverage="whole")


@pytest.fixture
def stored_run(folder, record):
    cases = [record(seq=256).case, record(seq=512).case, record(seq=1024).case, "never run"]
    folder.update_info(
        started="2026-11-20T11:30:00+00:00",
        suites={name: {"family": "mask", "cases": cases} for name in ("mask", "again")},
    )
    folder.write_fingerprint({"cpu": "a processor"})
    folder.write_environment(FACTS)
    folder.append(
        [record(seq=256), record(seq=256, replicate=1, status="timeout", reason="why", timing=None)]
    )
    folder.append(
        [record(seq=512, status="incorrect", reason="w", expected=True, correctness=WRONG, timing=None)]
    )
    folder.append([record(seq=1024, expected=True)])
    return folder


def test_cases_are_counted_by_status(stored_run):
    run = summarise(stored_run)
    assert (run.cases, run.planned, run.suites) == (3, 4, ("mask", "again"))
    assert run.statuses == {"ok": 2, "timeout": 1, "incorrect (expected)": 1}


def test_its_state(folder):
    assert summarise(folder).state == "open"
    with run_lock(folder.path, "seqsweep run", print):
        assert summarise(folder).state == "being written"
    folder.update_info(finished="2026-11-20T11:31:00+00:00")
    assert summarise(folder).state == "finished"


DAMAGE = {
    "run.json": "{",
    "environments.json": "[]",
    "fingerprints.json": '{"sha256:1": 3, "sha256:2": {"gpu": "x"}}',
    "records.jsonl": "{}\n",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_a_problem_and_the_rest_is_read(stored_run, name):
    (stored_run.path / name).write_text(DAMAGE[name])
    run = summarise(stored_run)
    assert len(run.problems) == 1
    assert run.cases == (0 if name == "records.jsonl" else 3)
    assert run.commit == (None if name == "environments.json" else "31dd830c09de")
    assert run.machine == (None if name == "fingerprints.json" else "a processor")
