"""Decisions on effects with a known verdict, and edge cases."""

import math
import statistics
from random import Random

import pytest

from harness.analysis.stats import student_t
from harness.gate.timed.decision import (
    DELTAS,
    IMPROVED,
    NOT_ENOUGH,
    REGRESSED,
    UNCHANGED,
    Margin,
    confirm,
    detectable_delta,
    holm,
    judge,
    noise_lines,
    p_value,
    pair_effect,
    pairs_for,
)
from harness.gate.timed.sequential_test import SequentialTest
from tests.gate.timed.effects import around

MARGIN = Margin()


CLEAR = {1.10: REGRESSED, 1.05: REGRESSED, 1.0: UNCHANGED, 1.01: UNCHANGED, 0.90: IMPROVED}


@pytest.mark.parametrize(("slowdown", "verdict"), CLEAR.items())
def test_clear_effects(slowdown, verdict):
    assert judge(around(math.log(slowdown)), MARGIN).verdict == verdict


def test_a_wide_spread_is_not_enough_evidence():
    assert judge([0.2, -0.1, 0.15, -0.05], MARGIN).verdict == NOT_ENOUGH


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_than_four_pairs_are_not_enough_evidence(count):
    found = judge(around(1.0)[:count], MARGIN)
    assert found.verdict == NOT_ENOUGH
    assert found.low is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_effects_must_be_finite(wrong):
    with pytest.raises(ValueError, match="measure the pair again"):
        judge([0.0, 0.0, 0.0, wrong], MARGIN)
    with pytest.raises(ValueError, match="measure the pair again"):
        pair_effect([0.0, wrong])


def test_with_zero_spread_the_mean_decides():
    assert judge([math.log(1.03)] * 4, MARGIN).verdict == REGRESSED


def test_swapping_the_sides_negates_the_effect_exactly():
    there, back = judge(around(0.08), MARGIN), judge([-e for e in around(0.08)], MARGIN)
    assert there.effect == -back.effect
    assert there.low == -back.high
    assert (there.verdict, back.verdict) == (REGRESSED, IMPROVED)


def test_a_regression_needs_fresh_pairs():
    slow, calm = judge(around(0.2), MARGIN), judge(around(0.0), MARGIN)
    assert confirm(slow, slow).verdict == REGRESSED
    assert confirm(slow, calm).verdict == NOT_ENOUGH
    assert confirm(calm, slow) == calm


def test_p_values_agree_with_the_interval():
    effects = around(MARGIN.least + 0.0005)
    assert (p_value(effects, MARGIN) < MARGIN.regressed) == (judge(effects, MARGIN).verdict == REGRESSED)
    assert p_value(effects[:3], MARGIN) == 1.0


def test_holm_rejects_in_order_and_stops_at_the_first_that_fails():
    assert holm({"a": 0.001, "b": 0.02, "c": 0.03}) == {"a", "b", "c"}
    assert holm({"a": 0.001, "b": 0.04, "c": 0.03}) == {"a"}
    assert holm({}) == set()
    assert holm({"a": 0.05}) == {"a"}
    assert holm({f"c{i}": 0.0003 for i in range(200)}) == set()
    assert len(holm({f"c{i}": 0.0002 for i in range(200)})) == 200


def of_size(size, count=8):
    """Effects with this standard deviation exactly."""
    raw = [(-1) ** index for index in range(count)]
    return [size * one / statistics.stdev(raw) for one in raw]


def test_the_fewest_pairs_are_those_whose_bound_fits_between_half_delta_and_delta():
    distance = math.log(1.05) - math.log(1.025)
    count = pairs_for(0.02, 0.05)
    assert count is not None

    def reach(pairs):
        return (student_t(0.99, pairs - 1) + student_t(0.9, pairs - 1)) * 0.02 / math.sqrt(pairs)

    assert reach(count) < distance
    assert reach(count - 1) >= distance


def test_the_smallest_detectable_slowdown_is_reported_in_four_of_five_gates():
    """Normal effects with the largest spread at which 12 pairs detect Δ, through the whole test."""
    held = max(size for size in (0.0005 * i for i in range(1, 100)) if pairs_for(size, 0.05))
    random, reported, gates = Random(7), 0, 200
    for _ in range(gates):
        test = SequentialTest({"case": Margin(0.05)})
        while test.undecided():
            test.feed("case", random.gauss(math.log(1.05), held))
        reported += test.cases["case"].verdict.verdict == REGRESSED
    assert reported >= 0.75 * gates


def test_more_noise_never_lowers_the_detectable_slowdown():
    holds = [detectable_delta([size]) or math.inf for size in (0.001, 0.005, 0.01, 0.03, 0.1)]
    assert holds == sorted(holds)
    assert len(set(holds)) > 2


def test_one_noisy_case_in_four_does_not_raise_the_detectable_slowdown():
    quiet, noisy = 1e-4, 0.5
    assert detectable_delta([quiet, quiet, quiet, noisy]) == DELTAS[0]
    assert detectable_delta([quiet, noisy, noisy, noisy]) is None
    assert detectable_delta([]) is None


def test_a_self_check_reports_the_detectable_slowdown():
    (line,) = noise_lines([of_size(0.001), of_size(0.002, 4), of_size(0.9), [0.1]])
    assert line == (
        "equal sides differ by 0.2 % between pairs (median of 3 cases, at most 90 %); "
        "with 12 pairs a gate can catch no slowdown up to 50 % in three quarters of the cases"
    )
    (line,) = noise_lines([of_size(0.001), of_size(0.0107), of_size(0.002, 4), of_size(0.9)])
    assert "a gate can catch a slowdown of 3 % in" in line
    assert noise_lines([[0.1]]) == []
