"""What a speedup is at least, where the baseline was given up."""

import pytest

from harness.analysis.suite_results import SuiteResults

K = 1024
LENGTHS = (1 * K, 4 * K, 16 * K)
ROUNDS = [0.99, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.02]  # of a level: enough for an interval


@pytest.fixture
def given_up(record, suite):
    """The baseline's time grows with the square of the length and is given up at 64Ki.

    `rounds` are those of the case by length, in units of its level.
    """

    def make(rounds, status="timeout"):
        cases = [record("base", seq, [1e-9 * seq**2] * 8) for seq in LENGTHS]
        remedy = "" if status == "timeout" else "raise --budget"
        cases.append(record("base", 64 * K, status=status, reason="it would take too long", remedy=remedy))
        cases += [
            record("x", seq, [1e-6 * seq * factor for factor in rounds.get(seq, ROUNDS)])
            for seq in (*LENGTHS, 64 * K)
        ]
        return SuiteResults.of(suite(cases)).lower_bounds

    return make


@pytest.mark.parametrize("status", ["timeout", "skipped"])
def test_the_largest_measured_speedup_bounds_the_next_with_its_interval(given_up, status):
    ((seq, bound),) = given_up({}, status)
    assert (bound.implementation, seq, bound.seq) == ("mask/x", 64 * K, 16 * K)
    assert bound.speedup == pytest.approx(16.384)
    assert bound.low == pytest.approx(16.384 / 1.02)
    assert bound.high == pytest.approx(16.384 / 0.99)


def test_a_speedup_without_an_interval_bounds_nothing(given_up):
    ((_, bound),) = given_up({16 * K: [1.0] * 3})
    assert bound.seq == 4 * K
    assert given_up(dict.fromkeys(LENGTHS, [1.0] * 3)) == []


def test_a_baseline_that_ran_out_of_memory_bounds_nothing(given_up):
    assert given_up({}, "oom") == []
