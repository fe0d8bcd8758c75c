"""Δ and threads of a gate are those of the suites whose cases --cases selects."""

import math
from dataclasses import replace

import pytest

from harness.gate.options import GateOptions
from harness.gate.planning import limit_threads, plan_of_candidate
from harness.gate.static.run import baseline_here
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
    options = limit_threads(GateOptions(cases=(pattern,)), project)
    plan = plan_of_candidate(project, options)
    assert (plan.deltas, plan.threads) == (deltas, threads)
    assert baseline_here(plan).threads == threads


def test_the_smallest_delta_is_that_of_the_cases_that_are_timed(project):
    options = GateOptions(
        cases=("topk/*", "mask/*"), overrides=replace(GateOptions().overrides, settings={"threads": "1"})
    )
    plan = plan_of_candidate(project, options)
    assert plan.smallest_delta() == math.inf  # without a base nothing is timed
    for family, delta in (("topk", 0.2), ("mask", 0.02)):
        timed = {case: case if case.family == family else None for case in plan.opponents}
        assert replace(plan, opponents=timed).smallest_delta() == delta
