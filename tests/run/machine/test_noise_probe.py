"""The probe of a machine's noise, with clocks and noise that are known."""

import math
import random

import pytest

from harness.run.machine.noise_history import NoiseHistory
from harness.run.machine.noise_probe import READING_S, READINGS, NoiseProbe, additions_and_copy, time_turns

BOUND = 0.05
UNITS, SESSIONS = 30, 40
SHIFT = 1.25


class Clock:
    """A wall clock that turns move on, and of which a share is another process's."""

    def __init__(self, turn_s, taken=0.0):
        self.turn_s, self.taken, self.wall_s, self.turns = turn_s, taken, 0.0, 0

    def turn(self):
        self.wall_s += self.turn_s
        self.turns += 1

    def now(self):
        return self.wall_s

    def busy(self):
        return self.wall_s * (1 - self.taken)


@pytest.mark.parametrize("turn_s", [2**-10, 0.5])
def test_readings_are_means_of_turns_however_long_one_takes(turn_s):
    clock = Clock(turn_s, taken=0.25)
    answer = time_turns(clock.turn, clock.now, clock.busy)
    assert answer["readings_s"] == pytest.approx([turn_s] * READINGS)
    assert answer["taken"] == pytest.approx(0.25)
    assert clock.turns == READINGS * math.ceil(READING_S / turn_s)


def test_a_probe_of_an_idle_machine_takes_little_more_than_a_second():
    assert READINGS * READING_S < 1.5


def test_a_turn_is_work_and_copies_the_block():
    additions_and_copy()()


def test_the_interval_is_of_the_median_of_the_readings():
    probe = NoiseProbe(tuple(float(number) for number in range(1, 21)), 0.5)
    assert probe.interval_s == (10.5, 6.0, 15.0)  # the sixth and the fifteenth of twenty cover 95.9 %
    assert probe.to_json()["readings_s"] == probe.readings_s


def steady(sd):
    """Readings that scatter by themselves."""

    def probe(rng):
        return [math.exp(rng.gauss(0, sd)) for _ in range(READINGS)]

    return lambda rng: lambda: probe(rng)


def interrupted(share, slowdown):
    """Some readings are a neighbour's, and much slower."""

    def probe(rng):
        scattered = (math.exp(rng.gauss(0, 0.03)) for _ in range(READINGS))
        return [reading * (slowdown if rng.random() < share else 1.0) for reading in scattered]

    return lambda rng: lambda: probe(rng)


def drifting(sd, kept):
    """The level of whole probes wanders, and keeps a share of itself from one to the next."""

    def begin(rng):
        level = rng.gauss(0, sd)

        def probe():
            nonlocal level
            level = kept * level + math.sqrt(1 - kept**2) * rng.gauss(0, sd)
            return [math.exp(level + rng.gauss(0, 0.03)) for _ in range(READINGS)]

        return probe

    return begin


STATIONARY = {
    "scatter of 3 %": steady(0.03),
    "scatter of 10 %": steady(0.10),
    "every seventh reading three times as long": interrupted(0.15, 3.0),
    "a drift of 4 % over minutes": drifting(0.04, 0.9),
    "another level of 4 % each time": drifting(0.04, 0.0),
}


def judged(kind, shift_from=None, seed=0):
    """Per unit whether each session doubted it; from a unit on every reading is SHIFT times as long."""
    marks = [[] for _ in range(UNITS)]
    for session in range(SESSIONS):
        draw, history = kind(random.Random(seed * SESSIONS + session)), NoiseHistory()
        for unit in range(UNITS):
            slow = SHIFT if shift_from is not None and unit >= shift_from else 1.0
            pair = [NoiseProbe(tuple(slow * reading for reading in draw()), 0.0) for _ in range(2)]
            marks[unit].append(history.judge(*pair, BOUND) is not None)
    return marks


def share(marks):
    flat = [mark for unit in marks for mark in unit]
    return sum(flat) / len(flat)


@pytest.mark.parametrize("kind", STATIONARY.values(), ids=STATIONARY)
def test_a_noisy_but_steady_machine_is_not_marked(kind):
    assert share(judged(kind)) <= 0.025


@pytest.mark.parametrize("kind", STATIONARY.values(), ids=STATIONARY)
def test_a_machine_that_becomes_slower_by_a_quarter_is_marked_as_long_as_it_is(kind):
    assert share(judged(kind, shift_from=10)[10:]) >= 0.9


@pytest.mark.parametrize("kind", [steady(0.03), interrupted(0.15, 3.0)])
def test_the_first_unit_is_judged_by_its_own_two_probes(kind):
    found = []
    for seed in range(100):
        draw = kind(random.Random(seed))
        before, after = draw(), [SHIFT * reading for reading in draw()]
        pair = [NoiseProbe(tuple(readings), 0.0) for readings in (before, after)]
        why = NoiseHistory().judge(*pair, BOUND)
        assert why is None or "above the other one's end" in why
        found.append((why is not None, NoiseHistory().judge(*pair[::-1], BOUND) is not None))
    assert sum(forward for forward, _ in found) >= 90
    assert all(forward == backward for forward, backward in found)


def test_without_a_bound_nothing_is_doubtful():
    pair = [NoiseProbe((seconds,) * READINGS, 0.0) for seconds in (1.0, 9.0)]
    assert NoiseHistory().judge(*pair, None) is None
    assert "800%" in NoiseHistory().judge(*pair, 7.0)


def test_a_bound_is_a_share_above_what_is_usual():
    history = NoiseHistory()
    one = NoiseProbe((1.0,) * READINGS, 0.0)
    for _ in range(3):
        assert history.judge(one, one, BOUND) is None
    for seconds, doubted in ((1.04, False), (1.06, True)):
        slow = NoiseProbe((seconds,) * READINGS, 0.0)
        assert (NoiseHistory(history.medians_s.copy()).judge(slow, slow, BOUND) is not None) is doubted
