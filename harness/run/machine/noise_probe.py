"""Noise probe of a machine: a fixed piece of work, timed repeatedly on every usable core at once.

Other load, a lower clock or steal slow down some core. The probe covers processors and memory, and no
accelerator. `python -m harness.run.machine.noise_probe CORE` runs the part of one core.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.catalog.child_process import environment
from harness.core.errors import MachineError
from harness.core.median_interval import median_interval

READINGS = 20
READING_S = 0.06
ANSWER_SECONDS = 60.0
BLOCK_BYTES = 4 << 20  # more than the private caches of most cores


@dataclass(frozen=True)
class NoiseProbe:
    """Wall seconds per turn in READINGS readings, each of the core that was slowest then.

    A reading is the mean of many short turns: other load interrupts few of them, but for long, so a median
    turn would not show it. The result is the median of the readings, with an interval as wide as the noise.
    `taken` is the share of the wall time that a core spent on something else.
    """

    readings_s: tuple[float, ...]
    taken: float

    @cached_property
    def interval_s(self) -> tuple[float, float, float]:
        """Median, low and high end at 95 %."""
        middle, low, high = median_interval(self.readings_s)
        return middle, low or 0.0, high or float("inf")

    def to_json(self) -> dict[str, Any]:
        median_s, low_s, high_s = self.interval_s
        interval = {"median_s": median_s, "low_s": low_s, "high_s": high_s}
        return {**interval, "taken": self.taken, "readings_s": self.readings_s}


def probe_noise() -> NoiseProbe:
    """Probe the usable cores now. MachineError where a core gives no answer."""
    command = [sys.executable, "-m", "harness.run.machine.noise_probe"]
    children = [
        subprocess.Popen(
            [*command, str(core)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for child in children:  # all are ready before any begins
            assert child.stdout
            child.stdout.readline()
        for child in children:
            assert child.stdin
            child.stdin.write("\n")
            child.stdin.flush()
        answers = [json.loads(child.communicate(timeout=ANSWER_SECONDS)[0]) for child in children]
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise MachineError("the probe of this machine's noise got no answer from a core; free it") from None
    finally:
        for child in children:
            child.kill()
            child.wait()
    readings = zip(*(answer["readings_s"] for answer in answers), strict=True)
    return NoiseProbe(tuple(map(max, readings)), max(answer["taken"] for answer in answers))


def time_turns(
    turn: Callable[[], None],
    now: Callable[[], float] = time.perf_counter,
    busy: Callable[[], float] = time.process_time,
) -> dict[str, Any]:
    """One core's `readings_s`, each the mean of the turns that fill READING_S, and the share `taken`."""
    readings: list[float] = []
    begin, begin_busy = now(), busy()
    for _ in range(READINGS):
        start, turns = now(), 0
        while turns == 0 or now() < start + READING_S:
            turn()
            turns += 1
        readings.append((now() - start) / turns)
    return {"readings_s": readings, "taken": max(0.0, 1 - (busy() - begin_busy) / (now() - begin))}


def additions_and_copy() -> Callable[[], None]:
    """A turn: about half a millisecond of additions and of copying memory."""
    source, target = bytes(BLOCK_BYTES), bytearray(BLOCK_BYTES)

    def turn() -> None:
        sum(range(20_000))
        target[:] = source

    return turn


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    own_turn = additions_and_copy()
    own_turn()  # the first one touches new pages
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(time_turns(own_turn)))
