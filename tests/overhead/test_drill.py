"""The harness against plain loops: known seconds on both sides, and one real loop per framework."""

import tempfile
from statistics import geometric_mean

import pytest

from harness.analysis.stats import SAME, SLOWER, UNDECIDED, read_interval
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


@pytest.mark.parametrize(
    ("factors", "reading"),
    [
        ([1.01, 0.99, 1.0, 1.02, 0.98], SAME),
        ([0.5, 2.0, 1.0, 1.5, 0.7], UNDECIDED),
        ([1.2, 1.21, 1.19, 1.2, 1.22], SLOWER),
    ],
)
def test_seconds_are_compared_in_pairs_whose_order_changes(monkeypatch, factors, reading):
    """The harness takes `factors` times the plain loop's second, one factor per pair."""
    plan = schedule(("scatter",), (1024,))
    order, remaining, case = [], list(factors), plan.suites[0].cases[0].id
    monkeypatch.setattr(drill, "_measure", lambda *_: order.append("harness") or {case: remaining.pop(0)})
    monkeypatch.setattr(drill, "_loop", lambda *_: order.append("plain") or 1.0)
    (found,) = drill.compare_with_loops(plan, catalog(), Listener()).values()
    assert (read_interval(found), found[0]) == (reading, pytest.approx(geometric_mean(factors)))
    assert order == ["plain", "harness", "harness", "plain"] * 2 + ["plain", "harness"]


def test_every_variable_that_a_worker_sets_is_listed():
    listed = " ".join(DIFFERENCES)
    assert all(name in listed for name in ENVIRONMENT)


@pytest.mark.parametrize("name", ["mask/torch_scatter", "topk/partition"])
def test_a_loop_of_every_framework_takes_time(name):
    project = Project()
    plan = project.plan(["mask_forms" if name.startswith("mask") else "topk"])
    case = next(case for suite in plan.suites for case in suite.cases if case.implementation == name)
    assert 0 < drill._loop(case, project.catalog, 1, 0) < 60
