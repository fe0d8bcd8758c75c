"""Ratios between distributions, from records with known times."""

from dataclasses import replace

import pytest

from harness.analysis.sensitivity import count_ratios, level_of, sensitivities
from harness.core.median_interval import samples_needed

STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def test_intervals_reported_together_hold_jointly():
    assert level_of(1) == pytest.approx(0.95)
    assert level_of(11) == pytest.approx(1 - 0.05 / 11)
    assert count_ratios([[1] * 7, [1] * 2, []]) == 6 + 1
    assert samples_needed(level_of(6 * 6)) == 11


def cases(record, **levels):
    """For each distribution the baseline at 1 s, and `x` at the given seconds."""
    made = []
    for name, seconds in levels.items():
        workload = {} if name == "iid" else {"distribution": name}
        made.append(record("base", 4096, STEADY, workload=workload))
        made.append(record("x", 4096, [seconds * s for s in STEADY], workload=workload))
    return made


def results(suite, records):
    return [replace(suite(records), interleaved="distribution")]


def test_load_on_one_side_cancels_if_distributions_share_their_rounds(record, suite):
    """In half of the rounds load triples the baseline's time; the ratios within rounds are unchanged."""
    busy = [3.0 if place % 2 else 1.0 for place in range(30)]
    made = []
    for name, share in (("iid", 0.5), ("tied", 0.4)):
        workload = {"distribution": name}
        made.append(
            record("base", 4096, [s * b for s, b in zip(STEADY, busy, strict=True)], workload=workload)
        )
        made.append(record("x", 4096, [share * s for s in STEADY], workload=workload))
    base, x = sensitivities(results(suite, made), {})
    assert x.largest.ratio[:3] == pytest.approx((1.25, 1.25, 1.25))
    assert base.largest.ratio[:3] == pytest.approx((1.0, 1.0, 1.0))
    assert (base.largest.is_different, x.largest.is_different) == (False, True)


def test_distributions_in_separate_rounds_have_no_interval(record, suite):
    made = cases(record, iid=0.5, tied=0.2)
    for one in sensitivities([suite(made)], {"mask": "iid"}):
        ratio = one.largest.ratio
        assert (ratio.low, ratio.high, one.largest.is_different) == (None, None, False)
        assert ratio.reason == "not measured in the same rounds; measure with seqsweep sensitivity"
    assert ratio.value == pytest.approx(2.5)


def test_a_separately_measured_distribution_has_a_ratio_without_an_interval(record, suite, timing):
    made = cases(record, iid=0.5, tied=0.2)
    later = [replace(r, timing=timing(r.timing.samples_s, range(200, 230))) for r in made[2:]]
    _, x = sensitivities(results(suite, made[:2] + later), {"mask": "iid"})
    ratio = x.largest.ratio
    assert (ratio.value, ratio.low, ratio.high) == (pytest.approx(2.5), None, None)
    assert ratio.reason == "no round has all sides"


def test_a_change_that_is_certain_comes_before_a_larger_one_that_is_not(record, suite):
    made = cases(record, iid=0.5, tied=0.25, zeros=0.1)
    made[-1] = record("x", 4096, [0.1, 2.0] * 15, workload={"distribution": "zeros"})
    _, x = sensitivities(results(suite, made), {"mask": "iid"})
    assert [case.is_different for case in x.cases] == [False, True, False]
    assert x.largest.distribution == "tied"


def test_cases_without_a_time_do_not_widen_intervals(record, suite):
    made = cases(record, iid=0.5, tied=0.4)
    more = [record(name, 8192, status="skipped") for name in ("base", "x")]
    _, alone = sensitivities(results(suite, made), {"mask": "iid"})
    _, x = sensitivities(results(suite, made + more), {"mask": "iid"})
    assert x.largest.ratio == alone.largest.ratio


def test_too_few_rounds_for_a_joint_interval_say_how_many_it_takes(record, suite):
    short = [
        record(name, 4096, [1.0, 1.1, 0.9, 1.0, 1.0, 1.0], workload={"distribution": data})
        for data in ("tied", "zeros")
        for name in ("base", "x")
    ]
    _, x = sensitivities(results(suite, short), {})
    assert not x.largest.is_different
    assert x.largest.ratio.reason == "needs ≥ 7 rounds; has 6"
