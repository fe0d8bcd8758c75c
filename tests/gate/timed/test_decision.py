"""The rule on effects whose verdict is known, and at its edges."""

import math

import pytest

from harness.gate.timed.decision import (
    IMPROVED,
    NOT_ENOUGH,
    REGRESSED,
    UNCHANGED,
    Margin,
    confirm,
    holm,
    judge,
    p_value,
    pair_effect,
)
from tests.gate.timed.effects import around

MARGIN = Margin()


CLEAR = {1.10: REGRESSED, 1.05: REGRESSED, 1.0: UNCHANGED, 1.01: UNCHANGED, 0.90: IMPROVED}


@pytest.mark.parametrize(("slowdown", "verdict"), CLEAR.items())
def test_clear_effects(slowdown, verdict):
    assert judge(around(math.log(slowdown)), MARGIN).verdict == verdict


def test_a_wide_spread_is_no_verdict():
    assert judge([0.2, -0.1, 0.15, -0.05], MARGIN).verdict == NOT_ENOUGH


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_than_four_pairs_are_never_a_verdict(count):
    found = judge(around(1.0)[:count], MARGIN)
    assert found.verdict == NOT_ENOUGH
    assert found.low is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(wrong):
    with pytest.raises(ValueError, match="measured again"):
        judge([0.0, 0.0, 0.0, wrong], MARGIN)
    with pytest.raises(ValueError, match="measured again"):
        pair_effect([0.0, wrong])


def test_without_any_spread_the_mean_decides():
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
