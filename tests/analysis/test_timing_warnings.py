"""Warnings about timings with a known fault, and no warnings about others."""

import random

from harness.analysis.timing_warnings import timing_warnings


def steady(count, level=1e-3, spread=0.01, seed=3):
    rng = random.Random(seed)
    return [level * (1 + rng.uniform(-spread, spread)) for _ in range(count)]


def test_a_steady_timing_has_no_warning(timing):
    assert timing_warnings(timing(steady(40), inner=1)) == ()


def test_drift_has_a_warning_with_size_and_direction(timing):
    slower = [1e-3 * (1 + 0.01 * i) for i in range(30)]
    assert any("slower" in doubt and doubt.startswith("drifts") for doubt in timing_warnings(timing(slower)))
    assert any("faster" in doubt for doubt in timing_warnings(timing(slower[::-1])))


def test_a_jump_and_back_is_not_drift(timing):
    there_and_back = steady(10) + steady(10, level=1.03e-3) + steady(10)
    assert not any(doubt.startswith("drifts") for doubt in timing_warnings(timing(there_and_back)))


def test_two_levels_have_a_warning_with_their_share(timing):
    mixed = [slow for pair in zip(steady(20), steady(20, level=2e-3), strict=True) for slow in pair]
    assert any("1.0 ms and 2.0 ms (50 % of samples)" in doubt for doubt in timing_warnings(timing(mixed)))


def test_a_few_outliers_are_not_a_level(timing):
    outliers = [*steady(38), 5e-3, 6e-3]
    random.Random(1).shuffle(outliers)
    assert timing_warnings(timing(outliers)) == ()


def test_a_sample_that_is_too_short_has_a_warning(timing):
    warnings = timing_warnings(timing(steady(20, level=5e-5)))
    assert any("a sample lasts only 50 µs" in warning for warning in warnings)
    assert timing_warnings(timing(steady(20, level=5e-5), inner=20)) == ()
