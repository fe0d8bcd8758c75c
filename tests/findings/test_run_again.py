"""Running a receipt again: the time limit, the estimate, and cases that were not run."""

import signal
from contextlib import nullcontext
from dataclasses import replace

import pytest

from harness.findings import recheck
from harness.findings.receipt import receipt_of
from harness.findings.recheck import UNCHECKED, check_statements, run_again
from harness.sweep.project import Project
from tests.findings.stored import store_findings_run, sweep
from tests.run.fakes import Heard

BENCH = "defaults: {budget: 2s}\nsuites:\n  mask: {family: mask, seq: [256], topk: 8, impls: [scatter]}\n"
NAMES = {"mask/dense": "mask/broadcast", "mask/sparse": "mask/scatter"}


def here(record):
    """The record with names that are registered here."""
    case = record.case.replace(record.implementation, NAMES[record.implementation])
    case = case.replace("dtype=f32", "dtype=f32,rows=1").replace(":fwd:", ",topk=8:fwd:")
    return replace(record, case=case, implementation=NAMES[record.implementation])


@pytest.fixture
def verify(tmp_path, monkeypatch):
    """`verify(limit_s, budget_s)`: the checks, printed lines and scheduled budgets."""
    (tmp_path / "bench.yaml").write_text(BENCH)
    made = [here(record) for record in sweep()]
    suite = {"family": "mask", "baseline": "mask/broadcast"}
    suite |= {"implementations": [*NAMES.values()], "cases": [record.case for record in made]}
    receipt = receipt_of(store_findings_run(tmp_path, made, suites={"mask": suite}))
    lines, budgets = [], []

    def run_and_delete(schedule, *_asked, wait):
        budgets.extend({group.settings.budget_s for group in schedule.groups})
        done = [record for record in made if "seq=4096" in record.case]
        return receipt.machine, done, verify.interrupted

    def verify(limit_s, budget_s=0.0):
        monkeypatch.setattr(recheck, "run_and_delete", run_and_delete)
        wanted = replace(receipt, budget_s=budget_s)
        project = Project(tmp_path / "bench.yaml")
        found = run_again(project, wanted, lambda _: Heard(), lines.append, limit_s=limit_s)
        return check_statements(wanted, found), lines, budgets

    verify.interrupted = True
    return verify


def test_cases_beyond_the_limit_are_reported_and_others_are_checked(verify, monkeypatch):
    monkeypatch.setattr(recheck, "time_limit", lambda _: nullcontext())  # the fake run ends as at the limit
    checks, lines, _ = verify(1e-9)
    assert lines[0].endswith("at most 0.0 s (--limit)")
    assert len(lines) == 1
    first, second, contracts = checks
    assert first.outcome != UNCHECKED
    for check in (second, contracts):
        assert check.outcome == UNCHECKED
        assert "not run within the limit of 0.0 s; raise --limit" in check.why


def test_ctrl_c_is_not_the_limit(verify):
    with pytest.raises(KeyboardInterrupt):
        verify(600.0)


@pytest.mark.parametrize(
    ("wanted_s", "limit_s", "given_s", "words"),
    [
        (0.0, 600.0, 2.0, "timing 4 cases for 2.0 s each and checking 1:"),
        (3.0, 600.0, 3.0, "timing 4 cases for 3.0 s each and checking 1:"),
        (1e9, 600.0, 75.0, "timing 4 cases for 1 m 15 s each (receipt: 277777 h 46 m) and checking 1:"),
    ],
)
def test_sampling_takes_at_most_half_the_limit(verify, wanted_s, limit_s, given_s, words):
    verify.interrupted = False
    _, lines, budgets = verify(limit_s, wanted_s)
    assert set(budgets) == {given_s}
    assert lines == [lines[0]]
    assert lines[0].startswith(words)


def test_the_limit_stops_a_running_case(verify, monkeypatch):
    def wait_for_ever(*_args, **_options):
        while True:
            signal.pause()

    monkeypatch.setattr(recheck, "schedule_cases", wait_for_ever)
    checks, _, _ = verify(1e-2)
    assert {check.outcome for check in checks} == {UNCHECKED}
    assert all("not run within the limit" in check.why for check in checks)
