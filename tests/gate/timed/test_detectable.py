"""What a spread between pairs lets a gate promise."""

import math
import statistics
from random import Random

from harness.analysis.stats import student_t
from harness.gate.timed.decision import REGRESSED, Margin
from harness.gate.timed.detectable import DELTAS, held_delta, noise_lines, pairs_for
from harness.gate.timed.sequential_test import SequentialTest


def of_size(size, count=8):
    """Effects with this standard deviation exactly."""
    raw = [(-1) ** index for index in range(count)]
    return [size * one / statistics.stdev(raw) for one in raw]


def test_the_fewest_pairs_are_those_at_which_the_bound_fits_between_half_and_whole():
    distance = math.log(1.05) - math.log(1.025)
    count = pairs_for(0.02, 0.05)
    assert count is not None

    def reach(pairs):
        return (student_t(0.99, pairs - 1) + student_t(0.9, pairs - 1)) * 0.02 / math.sqrt(pairs)

    assert reach(count) < distance
    assert reach(count - 1) >= distance


def test_a_slowdown_at_the_limit_of_what_is_held_is_reported_in_four_of_five_gates():
    """Drawn from normal effects at the largest spread that 12 pairs hold, and put through the whole test."""
    held = max(size for size in (0.0005 * i for i in range(1, 100)) if pairs_for(size, 0.05))
    random, reported, gates = Random(7), 0, 200
    for _ in range(gates):
        test = SequentialTest({"case": Margin(0.05)})
        while test.undecided():
            test.feed("case", random.gauss(math.log(1.05), held))
        reported += test.cases["case"].verdict.verdict == REGRESSED
    assert reported >= 0.75 * gates


def test_more_noise_never_holds_less():
    holds = [held_delta([size]) or math.inf for size in (0.001, 0.005, 0.01, 0.03, 0.1)]
    assert holds == sorted(holds)
    assert len(set(holds)) > 2


def test_one_noisy_case_in_four_does_not_speak_for_the_machine():
    quiet, noisy = 1e-4, 0.5
    assert held_delta([quiet, quiet, quiet, noisy]) == DELTAS[0]
    assert held_delta([quiet, noisy, noisy, noisy]) is None
    assert held_delta([]) is None


def test_a_self_check_says_in_a_line_which_slowdown_can_be_held():
    (line,) = noise_lines([of_size(0.001), of_size(0.002, 4), of_size(0.9), [0.1]])
    assert line == (
        "equal sides spread by 0.2 % between pairs (median of 3 cases; at most 90 %): "
        "with 12 pairs a gate can catch no slowdown up to 50 % in three quarters of them"
    )
    (line,) = noise_lines([of_size(0.001), of_size(0.0107), of_size(0.002, 4), of_size(0.9)])
    assert "a gate can catch a slowdown of 3 % in" in line
    assert noise_lines([[0.1]]) == []
