"""The harness against plain loops: known seconds on both sides, and one real loop per framework."""

import math
import tempfile

import pytest

from harness.analysis.stats import SAME, SLOWER, UNDECIDED
from harness.core.errors import MachineError
from harness.run.doctor import DIFFERENCES
from harness.run.processes.fork_client import ENVIRONMENT
from harness.sweep.project import Project
from tests.overhead import drill
from tests.run.plans import catalog, schedule


@pytest.fixture(autouse=True)
def own_lock(monkeypatch, tmp_path):
    """The device's lock lies in a folder of the test's own: a benchmark beside the tests decides nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class Listener:
    def message(self, text):
        assert text.startswith("pair ")


@pytest.fixture
def agreements(monkeypatch):
    def compare(factors):
        """The harness takes `factors` times the plain loop's second, one factor per pair."""
        plan = schedule(("scatter",), (1024,))
        order, remaining = [], list(factors)
        case = plan.suites[0].cases[0].id

        def measure(*_):
            order.append("harness")
            return {case: remaining.pop(0)}

        def loop(*_):
            order.append("plain")
            return 1.0

        monkeypatch.setattr(drill, "_measure", measure)
        monkeypatch.setattr(drill, "_loop", loop)
        return drill.compare_with_loops(plan, catalog(), Listener()), order

    return compare


def test_equal_times_agree(agreements):
    (found,), order = agreements([1.01, 0.99, 1.0, 1.02, 0.98])
    assert found.reading == SAME
    assert found.ratio == pytest.approx(1.0, abs=1e-3)
    assert order == ["plain", "harness", "harness", "plain"] * 2 + ["plain", "harness"]


def test_a_restless_loop_shows_no_agreement(agreements):
    (found,), _ = agreements([0.5, 2.0, 1.0, 1.5, 0.7])
    assert found.reading == UNDECIDED


def test_a_slower_harness_differs(agreements):
    (found,), _ = agreements([1.2, 1.21, 1.19, 1.2, 1.22])
    assert found.reading == SLOWER
    assert found.ratio_low > 1.15
    assert math.log(found.ratio) == pytest.approx(math.log(1.204), abs=1e-3)


def test_every_variable_that_a_worker_sets_is_listed():
    listed = " ".join(DIFFERENCES)
    assert all(name in listed for name in ENVIRONMENT)


@pytest.mark.parametrize("name", ["mask/torch_scatter", "mask/scatter", "topk/partition"])
def test_a_loop_of_every_framework_takes_time(name):
    project = Project()
    plan = project.plan(["mask_forms" if name.startswith("mask") else "topk"])
    info = project.catalog.implementation(name)
    case = next(case for suite in plan.suites for case in suite.cases if case.implementation == name)
    assert info.framework in {"torch", "jax", "numpy"}
    assert 0 < drill._loop(case, project.catalog, 1, 0) < 60


def test_a_case_that_fails_in_a_loop_is_named(monkeypatch):
    plan = schedule(("scatter",), (1024,))
    case = plan.suites[0].cases[0]
    with pytest.raises(MachineError, match=r"a plain loop of .* failed: "):
        drill._loop(case, catalog(), 1, 0)


def test_a_case_that_the_harness_does_not_time_ends_it(monkeypatch, tmp_path):
    record = type("Record", (), {"case": "a", "timing": None, "status": "oom", "reason": "too large"})
    monkeypatch.setattr(drill, "run_and_delete", lambda *_: ({}, [record], False))
    with pytest.raises(MachineError, match="a was oom in the harness: too large"):
        drill._measure(schedule(("scatter",), (1024,)), catalog(), Listener())
