"""Δ and threads of a gate are those of the suites whose cases --cases selects."""

import pytest

from harness.gate.options import GateOptions
from harness.gate.planning import limit_threads, plan_of_candidate
from harness.sweep.project import Project

BENCH = """\
default: [strict, lax]
suites:
  strict: {family: mask, seq: 64, rows: 1, impls: [scatter], threads: 2, delta: 2%}
  lax: {family: topk, seq: 64, topk: 8, rows: 1, impls: [exact], delta: 20%}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    return Project(tmp_path / "bench.yaml")


@pytest.mark.parametrize(
    ("pattern", "deltas", "threads"),
    [("topk/*", {"lax": 0.2}, 1), ("mask/*", {"strict": 0.02}, 2)],
)
def test_a_suite_of_which_no_case_is_selected_decides_nothing(project, pattern, deltas, threads):
    plan = plan_of_candidate(project, limit_threads(GateOptions(cases=(pattern,)), project))
    assert plan.deltas == deltas
    assert plan.schedule.groups[0].settings.threads == threads
