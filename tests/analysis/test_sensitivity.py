"""The largest factor between distributions: on known intervals, on records, and how often it errs."""

import random
from dataclasses import replace

import pytest

from harness.analysis.results import CaseRecords
from harness.analysis.sensitivity import (
    EXCLUDED,
    FOUND,
    UNDECIDED,
    DrawnCase,
    count_pairs,
    largest_factor,
    level_of,
    sensitivities,
)
from harness.analysis.stats import Estimate
from harness.core.median_interval import median_interval, samples_needed
from harness.core.record import Correctness
from tests.records import FAILED, record_of

STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def point(name, low, value, high, seq=4096):
    bounded = Estimate(value, low, high)
    return DrawnCase(name, CaseRecords([record_of("x", seq)]), bounded, None, bounded)


def quotient(a, b, level):
    """Of two points, with the widest bounds that theirs allow."""
    mine, theirs = a.value, b.value
    low = mine.low / theirs.high if mine.low and theirs.high else None
    return Estimate(mine.value / theirs.value, low, mine.high / theirs.low if low else None)


@pytest.mark.parametrize(
    ("points", "verdict", "bounds"),
    [
        ([point("a", 0.9, 1.0, 1.1), point("b", 1.9, 2.0, 2.2)], FOUND, (1.9 / 1.1, 2.2 / 0.9)),
        ([point("a", 0.9, 1.0, 1.1), point("b", 1.0, 1.1, 1.2)], EXCLUDED, (1.0, 1.2 / 0.9)),
        ([point("a", 0.9, 1.0, 1.1), point("b", 1.2, 1.4, 1.7)], UNDECIDED, (1.2 / 1.1, 1.7 / 0.9)),
        # One pair is far apart: found, whatever the others are. All must be close for it to be excluded.
        ([point("a", 0.9, 1, 1.1), point("b", 1, 1.1, 1.2), point("c", 4, 5, 6)], FOUND, (4 / 1.1, 6 / 0.9)),
        ([point("a", 0.9, 1, 1.1), point("b", 1, 1.1, 1.2), point("c", 0.5, 1, 2)], UNDECIDED, (1.0, 2.4)),
    ],
)
def test_a_factor_is_found_in_one_pair_and_excluded_in_all(points, verdict, bounds):
    found = largest_factor(points, quotient)
    assert (found.verdict(1.5), found.low, found.high) == (verdict, *(pytest.approx(b) for b in bounds))


def test_lengths_are_never_compared_with_each_other():
    points = [point("a", 0.9, 1.0, 1.1), point("b", 8.0, 9.0, 9.9, seq=8192)]
    assert largest_factor(points, quotient).reason == "two distributions have no time at one length"
    assert largest_factor([*points, point("b", 0.9, 1.0, 1.1)], quotient).verdict(1.5) == EXCLUDED


def test_an_interval_that_is_missing_excludes_nothing():
    points = [point("a", 0.9, 1.0, 1.1), point("b", 0.9, 1.0, 1.1), point("c", None, 1.0, None)]
    found = largest_factor(points, quotient)
    assert (found.verdict(1.5), found.high, found.low) == (UNDECIDED, None, 1.0)
    assert largest_factor([*points, point("d", 1.9, 2.0, 2.1)], quotient).verdict(1.5) == FOUND


def test_what_is_told_together_shares_what_may_be_wrong():
    assert level_of(1) == pytest.approx(0.95)
    assert level_of(11, 14) == pytest.approx(1 - 0.05 / 11 / 14)
    assert count_pairs([4096] * 7 + [8192] * 2) == 7 * 6 + 2
    assert samples_needed(level_of(6, count_pairs([4096] * 7))) == 14


def cases(record, **levels):
    """Of each distribution the baseline at 1 s and `x` at so many."""
    made = []
    for name, seconds in levels.items():
        workload = {} if name == "iid" else {"distribution": name}
        made.append(record("base", 4096, STEADY, workload=workload))
        made.append(record("x", 4096, [seconds * s for s in STEADY], workload=workload))
    return made


def results(suite, records):
    return [replace(suite(records), interleaved="distribution")]


def test_a_load_on_one_side_alone_divides_out_where_distributions_share_their_rounds(record, suite):
    """Half of the rounds are busy, which triples the baseline; in them all factors are what they were."""
    busy = [3.0 if place % 2 else 1.0 for place in range(30)]
    made = []
    for name, share in (("iid", 0.5), ("tied", 0.4)):
        workload = {"distribution": name}
        made.append(
            record("base", 4096, [s * b for s, b in zip(STEADY, busy, strict=True)], workload=workload)
        )
        made.append(record("x", 4096, [share * s for s in STEADY], workload=workload))
    base, x = sensitivities(results(suite, made), {})
    assert (x.largest.low, x.largest.value, x.largest.high) == pytest.approx((1.25, 1.25, 1.25))
    assert (base.largest.value, base.largest.verdict(1.1)) == (pytest.approx(1.0), EXCLUDED)


def test_distributions_of_rounds_of_their_own_decide_nothing(record, suite):
    made = cases(record, iid=0.5, tied=0.2)
    for one in sensitivities([suite(made)], {"mask": "iid"}):
        assert (one.largest.low, one.largest.high, one.largest.verdict(1.5)) == (None, None, UNDECIDED)
        assert (
            one.largest.reason == "they were not measured in the same rounds: seqsweep sensitivity does that"
        )
    assert one.largest.value == pytest.approx(2.5)


def test_one_that_had_to_be_measured_apart_has_a_factor_and_no_interval(record, suite, timing):
    made = cases(record, iid=0.5, tied=0.2)
    later = [replace(r, timing=timing(r.timing.samples_s, range(200, 230))) for r in made[2:]]
    _, x = sensitivities(results(suite, made[:2] + later), {"mask": "iid"})
    assert (x.largest.value, x.largest.low, x.largest.high) == (pytest.approx(2.5), None, None)
    assert x.largest.reason == "no round has all"


def test_each_implementation_is_told_of_over_its_distributions(record, suite):
    base, x = sensitivities(results(suite, cases(record, iid=0.5, tied=0.2, zeros=0.4)), {"mask": "iid"})
    assert (base.implementation, base.largest.verdict(1.5)) == ("mask/base", EXCLUDED)
    assert [case.distribution for case in x.cases] == ["iid", "tied", "zeros"]
    assert (x.largest.value, x.largest.most, x.largest.least) == (pytest.approx(2.5), "tied", "iid")
    assert (x.largest.verdict(1.5), x.largest.verdict(4.0)) == (FOUND, EXCLUDED)
    assert x.setting == "batch=1 dtype=f32, fwd on cpu"
    assert {case.side for case in x.cases} == {1}


def test_a_suite_of_one_distribution_says_nothing(record, suite):
    assert sensitivities(results(suite, cases(record, iid=0.5)), {"mask": "iid"}) == []


def test_too_few_rounds_for_a_joint_interval_say_how_many_it_takes(record, suite):
    short = [
        record(name, 4096, [1.0, 1.1, 0.9, 1.0, 1.0, 1.0], workload={"distribution": data})
        for data in ("tied", "zeros")
        for name in ("base", "x")
    ]
    _, x = sensitivities(results(suite, short), {})
    assert x.largest.verdict(1.5) == UNDECIDED
    assert x.largest.reason == "needs ≥ 8 rounds; has 6"


def test_what_is_wrong_on_one_distribution_has_no_part_in_its_factor(record, suite):
    made = cases(record, iid=0.5, tied=0.4)
    made.append(record("base", 4096, STEADY, workload={"distribution": "periodic"}))
    made.append(
        record("x", 4096, status="incorrect", correctness=FAILED, workload={"distribution": "periodic"})
    )
    _, x = sensitivities(results(suite, made), {"mask": "iid"})
    assert [case.record.status for case in x.cases] == ["ok", "ok", "incorrect"]
    assert (x.largest.value, x.largest.verdict(1.5)) == (pytest.approx(1.25), EXCLUDED)


def test_other_fields_are_settings_of_their_own(record, suite):
    made = cases(record, iid=0.5, tied=0.4)
    made += [
        replace(r, case=r.case.replace("dtype=f32", "dtype=bf16"), workload={**r.workload, "dtype": "bf16"})
        for r in made
    ]
    settings = [found.setting for found in sensitivities(results(suite, made), {"mask": "iid"})]
    assert sorted(set(settings)) == ["batch=1 dtype=bf16, fwd on cpu", "batch=1 dtype=f32, fwd on cpu"]


def test_at_exactly_the_factor_neither_verdict_is_given_often():
    """The least favourable truth: at a factor of 1.5 one verdict in forty may be wrong at either bound."""
    source, draws = random.Random(5), 300
    verdicts = []
    for _ in range(draws):
        points = [point(str(place), None, truth, None) for place, truth in enumerate((1.0, 1.5, 1.0, 1.5))]
        rounds = [[p.value.value * source.lognormvariate(0, 0.1) for _ in range(20)] for p in points]

        def between(a, b, level, rounds=rounds):
            both = zip(rounds[int(a.distribution)], rounds[int(b.distribution)], strict=True)
            return Estimate(*median_interval([mine / other for mine, other in both], level))

        verdicts.append(largest_factor(points, between).verdict(1.5))
    assert verdicts.count(FOUND) <= 0.025 * draws
    assert verdicts.count(EXCLUDED) <= 0.025 * draws


def test_recall_and_error_go_with_a_case(record, suite):
    made = cases(record, iid=0.5, tied=0.4)
    made[1] = replace(made[1], correctness=Correctness("recall", True, "whole", {"recall": 0.97}))
    _, x = sensitivities(results(suite, made), {"mask": "iid"})
    data = x.to_json(1.5)
    assert data["cases"][0]["figures"] == {"recall": 0.97}
    assert data["largest"]["verdict"] == EXCLUDED
