"""Running a receipt again: a limit of its reader's, an estimate before, and what was left out after."""

import signal
from contextlib import nullcontext
from dataclasses import replace

import pytest

from harness.findings import recheck
from harness.findings.receipt import receipt_of
from harness.findings.recheck import UNCHECKED, check_statements, run_again
from harness.sweep.project import Project
from tests.findings.kept import store_kept_run, sweep
from tests.run.fakes import Heard

BENCH = "defaults: {budget: 2s}\nsuites:\n  mask: {family: mask, seq: [256], topk: 8, impls: [scatter]}\n"
NAMES = {"mask/dense": "mask/broadcast", "mask/sparse": "mask/scatter"}


def here(record):
    """The record under names that are registered here."""
    case = record.case.replace(record.implementation, NAMES[record.implementation])
    case = case.replace("dtype=f32", "dtype=f32,rows=1").replace(":fwd:", ",topk=8:fwd:")
    return replace(record, case=case, implementation=NAMES[record.implementation])


@pytest.fixture
def verify(tmp_path, monkeypatch):
    """`verify(limit_s, budget_s)`: the checks, what was said, and the budgets that were scheduled."""
    (tmp_path / "bench.yaml").write_text(BENCH)
    made = [here(record) for record in sweep()]
    suite = {"family": "mask", "baseline": "mask/broadcast"}
    suite |= {"implementations": [*NAMES.values()], "cases": [record.case for record in made]}
    receipt = receipt_of(store_kept_run(tmp_path, made, suites={"mask": suite}))
    said, budgets = [], []

    def run_and_delete(schedule, *_asked, wait):
        budgets.extend({group.settings.budget_s for group in schedule.groups})
        done = [record for record in made if "seq=4096" in record.case]
        return receipt.machine, done, verify.interrupted

    def verify(limit_s, budget_s=0.0):
        monkeypatch.setattr(recheck, "run_and_delete", run_and_delete)
        asked = replace(receipt, budget_s=budget_s)
        project = Project(tmp_path / "bench.yaml")
        found = run_again(project, asked, lambda _: Heard(), said.append, limit_s=limit_s)
        return check_statements(asked, found), said, budgets

    verify.interrupted = True
    return verify


def test_what_the_limit_left_out_is_said_and_the_rest_is_checked(verify, monkeypatch):
    monkeypatch.setattr(recheck, "time_limit", lambda _: nullcontext())  # the fake run ends as at the limit
    checks, said, _ = verify(1e-9)
    assert said[0].endswith("at most 0.0 s (--limit)")
    assert len(said) == 1
    first, second, contracts = checks
    assert first.outcome != UNCHECKED
    for check in (second, contracts):
        assert check.outcome == UNCHECKED
        assert "left out at the limit of 0.0 s; raise --limit" in check.why


def test_ctrl_c_is_no_limit(verify):
    with pytest.raises(KeyboardInterrupt):
        verify(600.0)


@pytest.mark.parametrize(
    ("asked_s", "limit_s", "given_s", "words"),
    [
        (0.0, 600.0, 2.0, "4 cases to time for 2.0 s each, 1 to check:"),
        (3.0, 600.0, 3.0, "4 cases to time for 3.0 s each, 1 to check:"),
        (1e9, 600.0, 75.0, "4 cases to time for 1 m 15 s each (the receipt's: 277777 h 46 m), 1 to check:"),
    ],
)
def test_a_receipt_may_not_ask_for_more_sampling_than_half_the_limit(
    verify, asked_s, limit_s, given_s, words
):
    verify.interrupted = False
    _, said, budgets = verify(limit_s, asked_s)
    assert set(budgets) == {given_s}
    assert said == [said[0]]
    assert said[0].startswith(words)


def test_the_limit_stops_whatever_the_receipt_has_begun(verify, monkeypatch):
    def wait_for_ever(*_args, **_options):
        while True:
            signal.pause()

    monkeypatch.setattr(recheck, "schedule_cases", wait_for_ever)
    checks, _, _ = verify(1e-2)
    assert {check.outcome for check in checks} == {UNCHECKED}
    assert all("left out at the limit" in check.why for check in checks)
