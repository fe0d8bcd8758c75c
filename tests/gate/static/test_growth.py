import pytest

from harness.core.case import Case
from harness.gate.static.diff import StaticFigures
from harness.gate.static.growth import exponents, judge

LENGTHS = (1024, 2048, 4096)
GREW = "if it is meant, accept exponent in bench.yaml with the reason"
STEEPER = f"temp grows as seq^2.00, the base's as seq^1.00; {GREW}"


def case(seq, name="scatter"):
    return Case.of(f"mask/{name}", {}, {"batch": 1, "seq": seq})


def side(status="ok", **figures):
    source = "compiled" if figures.get("flops") else None
    source = figures.pop("flops_source", source)
    return StaticFigures(figures, flops_source=source, status=status, reason="x", framework="jax")


def pairs(base, candidate, lengths=LENGTHS, figure="temp_bytes"):
    """Both sides' figure as functions of the length."""
    return {case(seq): (side(**{figure: base(seq)}), side(**{figure: candidate(seq)})) for seq in lengths}


def never(_case, _figure):
    return None


def test_a_larger_power_is_a_regression_of_the_longest_case():
    found = exponents(pairs(lambda n: 4096 * n, lambda n: n * n), never)
    assert set(found) == {case(4096).id}
    assert found[case(4096).id] == ("regressed", STEEPER, ())


@pytest.mark.parametrize(
    ("figure", "says"), [("flops", "FLOPs grow as"), ("bytes_accessed", "bytes accessed grow as")]
)
def test_other_figures_that_grow(figure, says):
    (found,) = exponents(pairs(lambda n: 8 * n, lambda n: n * n, figure=figure), never).values()
    assert found.reason.startswith(f"{says} seq^2.00, the base's as seq^1.00")


@pytest.mark.parametrize(
    ("base", "candidate", "grown"),
    [
        (lambda n: n, lambda n: 100 * n, False),
        (lambda n: n * n, lambda n: n, False),
        (lambda n: n, lambda n: n**1.004, False),
        (lambda n: n, lambda n: n**1.006, True),
        (lambda n: n**1.004, lambda n: n**1.006, True),
        (lambda n: 0, lambda n: n * n, False),
        (lambda n: n, lambda n: None, False),
        (lambda n: n, lambda n: n * n if n > 1024 else 0, True),
    ],
)
def test_exponents_are_compared_at_two_decimals_over_lengths_both_know(base, candidate, grown):
    assert bool(exponents(pairs(base, candidate), never)) is grown


def test_one_length_is_no_power():
    assert exponents(pairs(lambda n: n, lambda n: n * n, lengths=(1024,)), never) == {}


def test_only_lengths_that_both_sides_ran_count_and_series_stay_apart():
    found = pairs(lambda n: 4096 * n, lambda n: n * n)
    found[case(4096)] = (side(temp_bytes=1), side("oom"))
    found[case(8192)] = (None, side(temp_bytes=8192))
    found[case(65536, "gather")] = (side(temp_bytes=1), side(temp_bytes=2))
    assert set(exponents(found, never)) == {case(2048).id}


def test_flops_counted_in_two_ways_have_no_common_power():
    found = pairs(lambda n: n, lambda n: n * n, figure="flops")
    counted = {"flops_source": "matmul_only", "framework": "torch"}
    mixed = {one: (base, StaticFigures(now.figures, **counted)) for one, (base, now) in found.items()}
    assert exponents(mixed, never) == {}


def test_a_growth_is_accepted_by_its_own_key():
    found = judge(
        pairs(lambda n: 4096 * n, lambda n: n * n),
        lambda one, figure: f"{one[:4]} {figure}" if figure == "exponent" else None,
    )
    accepted = f"accepted: {STEEPER.partition(';')[0]}: mask exponent"
    assert found[case(4096).id] == ("unchanged", "same figures", (accepted,))


def test_all_cases_together():
    found = judge(pairs(lambda n: 4096 * n, lambda n: n * n), never)
    assert [finding.verdict for finding in found.values()] == ["improved", "improved", "regressed"]
    assert found[case(4096).id] == ("regressed", STEEPER, ("same figures",))
    worse = judge(pairs(lambda n: 1024 * n, lambda n: n * n), never)[case(4096).id]
    assert worse.reason == f"temp 4.00 MiB -> 16.0 MiB (4.00×); {STEEPER}"


def test_what_is_accepted_is_asked_for_by_case():
    asked = []
    judge(pairs(lambda n: n, lambda n: 2 * n), lambda one, figure: asked.append((one, figure)))
    assert asked == [(case(seq).id, "temp_bytes") for seq in LENGTHS]


def test_a_wrong_case_stays_wrong_and_has_the_growth_beside_it():
    found = pairs(lambda n: 4096 * n, lambda n: n * n)
    base, candidate = found[case(4096)]
    found[case(4096)] = (base, StaticFigures(candidate.figures, "jax", compiles=1))
    wrong = judge(found, never)[case(4096).id]
    assert wrong.verdict == "invalid"
    assert wrong.notes == (STEEPER,)
