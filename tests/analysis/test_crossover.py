import math

import pytest

from harness.analysis.suite_results import SuiteResults

SPREAD = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0, 1.0)


def find_crossover(record, suite, speedups, rounds=SPREAD, failed=()):
    """The crossover of an implementation with these speedups by length; `failed` adds records."""
    records = list(failed)
    for seq, speedup in speedups.items():
        records.append(record("base", seq, [1.0] * len(rounds)))
        records.append(record("x", seq, [noise / speedup for noise in rounds]))
    (only,) = SuiteResults.of(suite(records)).crossovers
    return only


def test_the_crossing_lies_between_the_last_loss_and_the_first_win(record, suite):
    only = find_crossover(record, suite, {4096: 0.5, 16384: 0.8, 65536: 1.25, 262144: 2.0})
    assert only.first_grid == 65536
    assert only.interpolated == pytest.approx(math.sqrt(16384 * 65536))
    assert only.reason is None


def test_always_faster_is_said_and_not_extrapolated(record, suite):
    only = find_crossover(record, suite, {4096: 1.5, 16384: 2.0})
    assert (only.first_grid, only.interpolated) == (4096, None)
    assert only.reason == "faster at every length"


def test_none_in_range(record, suite):
    only = find_crossover(record, suite, {4096: 0.5, 16384: 0.6})
    assert (only.first_grid, only.interpolated) == (None, None)
    assert only.reason == "none in range: not faster at any length"


def test_a_lead_that_is_lost_again_is_no_crossover(record, suite):
    only = find_crossover(record, suite, {4096: 0.5, 16384: 2.0, 65536: 0.5})
    assert only.first_grid is None
    assert only.reason == ("none in range: slower again at the end; crosses 2 times: ≈ 8Ki, ≈ 32Ki")


def test_several_crossings_are_reported_and_the_last_counts(record, suite):
    only = find_crossover(record, suite, {4096: 2.0, 16384: 0.5, 65536: 2.0})
    assert only.first_grid == 65536
    assert only.interpolated == pytest.approx(32768)
    assert only.reason == "crosses 2 times: ≈ 8Ki, ≈ 32Ki"


def test_medians_that_noise_moves_across_one_cross_nothing(record, suite):
    wide = (0.5, 2.0, 1.0, 0.6, 1.8, 1.0, 1.0)
    only = find_crossover(record, suite, {4096: 0.98, 16384: 1.02, 65536: 0.97}, rounds=wide)
    assert (only.first_grid, only.interpolated) == (None, None)
    assert only.reason == "none in range: every interval contains 1 at the end"


def test_an_interval_that_contains_one_is_no_win_yet(record, suite):
    wide = (0.5, 2.0, 1.0, 0.6, 1.8, 1.0, 1.0)
    records = [record("base", seq, [1.0] * 7) for seq in (4096, 16384, 65536)]
    own = {4096: [2.0] * 7, 16384: [noise / 1.2 for noise in wide], 65536: [0.5] * 7}
    records += [record("x", seq, samples) for seq, samples in own.items()]
    (only,) = SuiteResults.of(suite(records)).crossovers
    assert only.first_grid == 65536
    assert 4096 < only.interpolated < 16384
    assert only.reason == "its interval leaves 1 from 64Ki on"


def test_a_win_without_an_interval_is_flagged(record, suite):
    only = find_crossover(record, suite, {4096: 0.5, 16384: 2.0}, rounds=(1.0, 1.0, 1.0))
    assert (only.first_grid, only.interpolated) == (16384, None)
    assert only.reason.startswith(
        "no interval at 16Ki: needs ≥ 6 rounds; has 3; no interval excludes 1 on both"
    )


def test_a_lead_that_ends_is_a_crossing_too(record, suite):
    only = find_crossover(record, suite, {4096: 2.0, 16384: 2.0, 65536: 0.5})
    assert (only.first_grid, only.last_grid) == (None, 16384)
    assert only.interpolated == pytest.approx(32768)


@pytest.mark.parametrize(
    "speedups",
    [{4096: 0.5, 16384: 2.0, 65536: 0.5}, {4096: 2.0, 16384: 1.0}, {4096: 2.0, 8192: 0.5, 16384: 1.0}],
    ids=["no lead at first", "no loss behind it", "a loss, then about the same"],
)
def test_what_is_a_lead_that_ends(record, suite, speedups):
    ended = find_crossover(record, suite, speedups).last_grid
    assert ended == (4096 if 8192 in speedups else None)


def test_about_the_same_is_no_side_of_a_crossing(record, suite):
    """At 4Ki the interval contains 1, at 16Ki it does not: it is faster there, from where is not known."""
    wide = (0.5, 2.0, 1.0, 0.6, 1.8, 1.0, 1.0)
    records = [record("base", seq, [1.0] * 7) for seq in (4096, 16384)]
    records += [record("x", 4096, [noise * 1.1 for noise in wide]), record("x", 16384, [0.5] * 7)]
    (only,) = SuiteResults.of(suite(records)).crossovers
    assert (only.first_grid, only.interpolated) == (16384, None)
    assert only.reason == "no interval excludes 1 on both sides of a crossing"


def test_lengths_the_baseline_did_not_reach_are_named(record, suite):
    gone = [record("base", 65536, status="oom"), record("x", 65536, SPREAD)]
    only = find_crossover(record, suite, {4096: 0.5, 16384: 0.6}, failed=gone)
    assert only.reason == "none in range: not faster at any length; baseline absent from 64Ki (oom)"


def test_a_baseline_that_never_ran_leaves_no_crossover(record, suite):
    records = [record("base", 4096, status="timeout"), record("x", 4096, SPREAD)]
    (only,) = SuiteResults.of(suite(records)).crossovers
    assert (only.first_grid, only.reason) == (None, "baseline absent from 4Ki (timeout)")


def test_a_suite_without_a_baseline_has_no_crossovers(record, suite):
    assert SuiteResults.of(suite([record("x", 4096, SPREAD)], baseline="")).crossovers == []
