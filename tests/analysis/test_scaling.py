"""Scaling exponents and crossovers."""

import math

import pytest

from harness.analysis.scaling import bends, fit
from harness.analysis.suite_results import SuiteResults

GRID = (4096, 16384, 65536, 131072)


def scalings(suite):
    return SuiteResults.of(suite).scalings


def of(found, metric, implementation="mask/x", target="host"):
    (only,) = [s for s in found if (s.metric, s.implementation, s.target) == (metric, implementation, target)]
    return only


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.0])
def test_an_exact_power_is_found_exactly(power):
    assert fit({seq: 3.7 * seq**power for seq in GRID}) == (power, power, power)


def test_the_interval_is_that_of_a_regression_with_student_t():
    exponent, low, high = fit({1: 1.0, 2: 2.0, 4: 8.0})
    # logs 0, 1, 3 over 0, 1, 2: slope 1.5, residual sum 1/6, one degree of freedom, spread 2
    half = 12.706204736432095 * math.sqrt(1 / 6 / 2)
    assert (exponent, low, high) == pytest.approx((1.5, 1.5 - half, 1.5 + half))


def test_one_length_has_a_reason_for_no_exponent(record, suite):
    found = of(scalings(suite([record("x", 4096, [1.0])])), "time")
    assert (found.exponent, found.reason, found.points) == (None, "needs ≥ 2 lengths; has 1", 1)


def test_compile_time_figures_of_cases_that_could_not_run_count(record, suite, static):
    def figures(seq):
        return {"host": static(temp_bytes=4 * seq * seq, flops=8.0 * seq)}

    records = [record("x", seq, [1.0], static=figures(seq)) for seq in GRID[:2]]
    records += [record("x", GRID[2], status="oom", static=figures(GRID[2]))]
    records += [record("x", GRID[3], status="skipped", static=figures(GRID[3]))]
    found = scalings(suite(records))
    assert (of(found, "temp_bytes").exponent, of(found, "temp_bytes").points) == (2.0, 4)
    assert (of(found, "flops").exponent, of(found, "flops").low) == (1.0, 1.0)
    assert of(found, "time").points == 2


def test_zero_bytes_have_no_exponent(record, suite, static):
    sizes = {4096: 0, 16384: 64, 65536: 256}
    records = [record("x", seq, static={"host": static(temp_bytes=size)}) for seq, size in sizes.items()]
    found = of(scalings(suite(records)), "temp_bytes")
    assert (found.exponent, found.reason) == (None, "0 at 4Ki: not a power of the length")


def test_the_reason_of_an_unavailable_figure_is_used(record, suite, static):
    lacking = {"host": static(unavailable={"flops": "not counted by torch"})}
    records = [record("x", seq, static=lacking) for seq in GRID]
    found = of(scalings(suite(records)), "flops")
    assert found.reason == "needs ≥ 2 lengths; has 0 (not counted by torch)"
    bare = of(scalings(suite([record("x", 4096, [1.0])])), "flops")
    assert bare.reason == "needs ≥ 2 lengths; has 0 (not compiled)"


def test_flops_counted_by_two_rules_are_not_fitted(record, suite, static):
    sources = ("compiled", "compiled", "matmul_only")
    records = [
        record("x", seq, static={"host": static(flops=1.0 * seq, flops_source=source)})
        for seq, source in zip(GRID, sources, strict=False)
    ]
    assert "counted differently" in of(scalings(suite(records)), "flops").reason


def test_a_curve_that_bends_is_noted():
    (bend,) = bends({4096: 1.0, 16384: 1.0, 65536: 16.0})
    assert bend == "bends: exponent 0.00 over 4Ki to 16Ki, 2.00 over 16Ki to 64Ki"
    assert bends({4096: 1.0, 16384: 4.1, 65536: 15.9}) == ()


def test_a_loops_body_is_never_fitted(record, suite, static):
    """Temporaries are fitted, because they are planned for the whole program."""

    def figures(seq):
        return {"host": static(flops=1.0 * seq, bytes_accessed=2.0 * seq, temp_bytes=seq, body_only=True)}

    found = scalings(suite([record("x", seq, static=figures(seq)) for seq in GRID]))
    for metric in ("flops", "bytes_accessed"):
        one = of(found, metric)
        assert (one.exponent, one.points) == (None, 0)
        assert one.reason == "needs ≥ 2 lengths; has 0 (loop body counted once)"
    assert of(found, "temp_bytes").exponent == 1.0


def test_lengths_with_a_loop_body_counted_once_are_excluded_with_a_note(record, suite, static):
    records = [
        record("x", seq, static={"host": static(flops=1.0 if partial else 1.0 * seq**2, body_only=partial)})
        for seq, partial in zip(GRID, (False, False, False, True), strict=True)
    ]
    found = of(scalings(suite(records)), "flops")
    assert (found.exponent, found.points) == (2.0, 3)
    assert found.notes == ("loop body counted once, not in the fit: 128Ki",)


SPREAD = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0, 1.0)
WIDE = (0.5, 2.0, 1.0, 0.6, 1.8, 1.0, 1.0)
NO_SIDE = "intervals do not exclude 1 on both sides of a crossing"


def find_crossover(record, suite, speedups, noise=(), failed=()):
    """The crossover of an implementation with these speedups by length; `noise` maps lengths to noise."""
    records = list(failed)
    for seq, speedup in speedups.items():
        own = dict(noise).get(seq, SPREAD)
        records.append(record("base", seq, [1.0] * len(own)))
        records.append(record("x", seq, [factor / speedup for factor in own]))
    (only,) = SuiteResults.of(suite(records)).crossovers
    return only


CROSSES = {  # speedups by length, noise: (first length, crossing, reason)
    "between the last loss and the first win": (
        {4096: 0.5, 16384: 0.8, 65536: 1.25, 262144: 2.0}, {}, (65536, 32768, None)
    ),
    "always faster": ({4096: 1.5, 16384: 2.0}, {}, (4096, None, "faster at every length")),
    "never": ({4096: 0.5, 16384: 0.6}, {}, (None, None, "not faster at any length")),
    "a lead that is lost again": (
        {4096: 0.5, 16384: 2.0, 65536: 0.5}, {},
        (None, None, "slower again at the longest length; 2 crossings, near 8Ki, 32Ki"),
    ),
    "several, of which the last counts": (
        {4096: 2.0, 16384: 0.5, 65536: 2.0}, {}, (65536, 32768, "2 crossings, near 8Ki, 32Ki")
    ),
    "medians that noise moves across one": (
        {4096: 0.98, 16384: 1.02, 65536: 0.97}, dict.fromkeys((4096, 16384, 65536), WIDE),
        (None, None, "no certain difference at the longest length"),
    ),
    "an interval that contains one is no win yet": (
        {4096: 0.5, 16384: 1.2, 65536: 2.0}, {16384: WIDE},
        (65536, 4096 * 4 ** (math.log(2) / math.log(2.4)), "no certain difference at 16Ki"),
    ),
    "about the same is no side": ({4096: 1 / 1.1, 16384: 2.0}, {4096: WIDE}, (16384, None, NO_SIDE)),
    "a win without an interval": (
        {4096: 0.5, 16384: 2.0}, dict.fromkeys((4096, 16384), (1.0,) * 3),
        (16384, None, f"no interval at 16Ki: needs ≥ 6 rounds; has 3; {NO_SIDE}"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("speedups", "noise", "crossing"), CROSSES.values(), ids=CROSSES)
def test_where_a_case_becomes_faster(record, suite, speedups, noise, crossing):
    only = find_crossover(record, suite, speedups, noise)
    first, interpolated, reason = crossing
    assert (only.first_grid, only.reason) == (first, reason)
    assert only.interpolated == (None if interpolated is None else pytest.approx(interpolated))


def test_a_lead_that_ends_is_a_crossing_too(record, suite):
    only = find_crossover(record, suite, {4096: 2.0, 16384: 2.0, 65536: 0.5})
    assert (only.first_grid, only.last_grid) == (None, 16384)
    assert only.interpolated == pytest.approx(32768)


def test_lengths_the_baseline_did_not_reach_are_named(record, suite):
    gone = [record("base", 65536, status="oom"), record("x", 65536, SPREAD)]
    only = find_crossover(record, suite, {4096: 0.5, 16384: 0.6}, failed=gone)
    assert only.reason == "not faster at any length; no baseline time from 64Ki (oom)"
