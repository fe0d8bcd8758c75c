import math

import pytest

from harness.analysis.power_law import bends, fit
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


def test_two_lengths_give_a_value_without_an_interval(record, suite):
    records = [record("x", seq, [1e-9 * seq]) for seq in (1000, 3000)]
    found = of(scalings(suite(records)), "time")
    assert (found.exponent, found.low, found.high) == (1.0, None, None)
    assert found.reason == "needs ≥ 3 lengths for an interval; has 2"


def test_the_interval_is_that_of_a_regression_with_student_t():
    exponent, low, high = fit({1: 1.0, 2: 2.0, 4: 8.0})
    # logs 0, 1, 3 over 0, 1, 2: slope 1.5, residual sum 1/6, one degree of freedom, spread 2
    half = 12.706204736432095 * math.sqrt(1 / 6 / 2)
    assert (exponent, low, high) == pytest.approx((1.5, 1.5 - half, 1.5 + half))


def test_one_length_says_how_many_it_needs(record, suite):
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
    assert (found.exponent, found.reason) == (None, "0 at 4Ki: no power of the length")


def test_unavailable_figures_pass_their_reason_on(record, suite, static):
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


def test_every_target_has_its_own_exponents(record, suite, static):
    def of_size(size):
        return static(temp_bytes=size, bytes_accessed=3.0 * size)

    records = [record("x", seq, static={"host": of_size(seq), "tpu:v5p": of_size(seq**2)}) for seq in GRID]
    found = scalings(suite(records))
    for metric in ("temp_bytes", "bytes_accessed"):
        assert of(found, metric).exponent == 1.0
        assert of(found, metric, target="tpu:v5p").exponent == 2.0


def test_panels_are_fitted_apart(record, suite):
    records = [
        record("x", seq, [1e-9 * seq**batch], workload={"batch": batch}) for seq in GRID for batch in (1, 2)
    ]
    found = [s for s in scalings(suite(records)) if s.metric == "time"]
    panels = [(f"batch={batch},dtype=f32:fwd:cpu", float(batch)) for batch in (1, 2)]
    assert [(s.panel, s.exponent) for s in found] == panels


def test_a_curve_that_bends_is_noted():
    (bend,) = bends({4096: 1.0, 16384: 1.0, 65536: 16.0})
    assert bend == "bends: exponent 0.00 over 4Ki to 16Ki, 2.00 over 16Ki to 64Ki"
    assert bends({4096: 1.0, 16384: 4.1, 65536: 15.9}) == ()


def test_a_loops_body_is_never_fitted(record, suite, static):
    """Temporaries are: they are planned for the program, whatever its loops' lengths."""

    def figures(seq):
        return {"host": static(flops=1.0 * seq, bytes_accessed=2.0 * seq, temp_bytes=seq, body_only=True)}

    found = scalings(suite([record("x", seq, static=figures(seq)) for seq in GRID]))
    for metric in ("flops", "bytes_accessed"):
        one = of(found, metric)
        assert (one.exponent, one.points) == (None, 0)
        assert one.reason == "needs ≥ 2 lengths; has 0 (body only)"
    assert of(found, "temp_bytes").exponent == 1.0


def test_lengths_with_a_body_only_are_left_out_and_named(record, suite, static):
    records = [
        record("x", seq, static={"host": static(flops=1.0 if partial else 1.0 * seq**2, body_only=partial)})
        for seq, partial in zip(GRID, (False, False, False, True), strict=True)
    ]
    found = of(scalings(suite(records)), "flops")
    assert (found.exponent, found.points) == (2.0, 3)
    assert found.notes == ("body only, left out: 128Ki",)
