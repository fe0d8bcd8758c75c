"""Comparison of two sides: known ratios and intervals, and refused comparisons."""

from dataclasses import replace

import pytest

from harness.analysis.compare_runs import (
    BOTH_INTERVALS,
    OTHER_SOURCE,
    describe_differences,
    match_implementations,
    match_runs,
)
from harness.analysis.stats import (
    BY_PROCESS,
    DOUBTFUL,
    FASTER,
    NO_INTERVAL,
    ROUNDS,
    SAME,
    SLOWER,
    UNDECIDED,
    Estimate,
    interval_verdict,
    ratio,
)
from harness.core.errors import UsageError

SLOW = [2.0, 2.2, 1.8, 2.1, 1.9, 2.0]
FAST = [sample / 2 for sample in SLOW]


def test_inside_a_run_rounds_are_paired(record):
    records = [record("base", 1024, SLOW), record("quick", 1024, FAST)]
    (change,) = match_implementations(records, "quick", "base").changes
    assert change.ratio[:3] == pytest.approx((0.5, 0.5, 0.5))
    assert change.ratio.unit == "rounds"


def test_across_runs_the_interval_is_as_wide_as_both(record):
    before, after = [record("base", 1024, SLOW)], [record("base", 1024, FAST, run="r2")]
    (change,) = match_runs(before, after).changes
    assert change.ratio[:3] == pytest.approx((0.5, 0.9 / 2.2, 1.1 / 1.8))
    assert change.ratio.unit == BOTH_INTERVALS


@pytest.mark.parametrize(("framework", "kind"), [("jax", "program"), ("torch", "operators")])
def test_equal_programs_have_a_note(record, static, framework, kind):
    figures = {"host": static(temp_bytes=1, program="sha256:1")}
    slow = record("base", 8, SLOW, static=figures, framework=framework)
    (change,) = match_runs([slow], [slow]).changes
    assert change.warnings[-1] == (
        f"same {kind} on both sides: a time difference comes from outside the {kind}"
    )


def test_a_changed_source_has_a_note(record):
    one, other = (record("base", 8, SLOW, source=f"closure:{digest}") for digest in "ab")
    (change,) = match_runs([one], [other]).changes
    assert OTHER_SOURCE in change.warnings


def test_a_failed_side_has_no_ratio(record):
    records = [record("base", 8, status="oom"), record("quick", 8, FAST)]
    (change,) = match_implementations(records, "quick", "base").changes
    assert change.ratio.value is None
    assert change.ratio.reason == "n/a (mask/base oom)"


def test_different_clocks_are_never_compared(record, timing):
    events = timing(SLOW, method="cuda_events", cache="flushed")
    with pytest.raises(UsageError, match="cuda_events and wall"):
        match_runs([record("base", 8, SLOW)], [record("base", 8, timing=events)])


def test_cases_of_only_one_side_are_listed(record):
    one, other = record("base", 8, SLOW), record("base", 16, SLOW)
    assert match_runs([one], [other]) == ([], [other.case], [one.case])
    records = [one, record("quick", 8, FAST), other]
    assert match_implementations(records, "quick", "base")[1:3] == ([], [other.case])


READINGS = {
    FASTER: (0.5, 0.9),
    SLOWER: (1.1, 30),
    SAME: (0.95, 1.05),
    UNDECIDED: (0.5, 2),
    NO_INTERVAL: (None,) * 2,
}


@pytest.mark.parametrize(("word", "bounds"), READINGS.items())
def test_the_verdict_depends_only_on_the_interval(word, bounds):
    assert interval_verdict(Estimate(13.0, *bounds)) == word


@pytest.mark.parametrize("bounds", READINGS.values())
def test_a_ratio_is_doubtful_while_other_programs_use_the_processor(bounds):
    assert interval_verdict(Estimate(13.0, *bounds, doubtful=True)) == DOUBTFUL


@pytest.mark.parametrize(("unit", "word"), [(ROUNDS, SAME), (BY_PROCESS, SLOWER)])
def test_small_differences_within_one_process_are_about_the_same(unit, word):
    assert interval_verdict(Estimate(1.05, 1.02, 1.08, unit=unit)) == word


@pytest.mark.parametrize(
    ("queued", "load", "method", "word"),
    [
        (0.11, 0.21, "wall", DOUBTFUL),
        (0.1, 0.9, "wall", FASTER),
        (0.9, 0.2, "wall", FASTER),  # its threads wait for each other
        (0.9, 0.9, "cupti", FASTER),
    ],
)
def test_a_ratio_is_doubtful_where_a_side_waited_for_other_programs(record, queued, load, method, word):
    waited = record("scatter", 8, FAST)
    waited = replace(waited, timing=replace(waited.timing, queued=queued, other_load=load, method=method))
    base = record("base", 8, SLOW)
    base = replace(base, timing=replace(base.timing, method=method))
    assert interval_verdict(ratio([waited], [base])) == word


def test_fingerprints_name_what_differs():
    left = {"cpu": "a", "versions": {"jax": "1", "torch": "2"}}
    right = {"cpu": "a", "versions": {"jax": "3", "torch": "2"}, "governor": "powersave"}
    assert describe_differences(left, right) == ["governor (None, powersave)", "versions.jax (1, 3)"]
    assert describe_differences(left, left) == []
