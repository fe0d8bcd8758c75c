"""A probe of a machine's noise: a fixed piece of work on every usable core at once, timed again and again.

A neighbour, a lower clock or stolen time make some core slower. It sees the processors and their memory; of
an accelerator it sees nothing. `python -m harness.run.machine.noise_probe CORE SECONDS` is one core's part.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from harness.catalog.child_process import environment
from harness.core.errors import MachineError

SECONDS = 1.0
ANSWER_SECONDS = 60.0
BLOCK_BYTES = 4 << 20  # beyond most cores' own caches


@dataclass(frozen=True)
class CoreNoise:
    """The slowest core of a probe: wall seconds per turn, as their mean and the lowest and highest tenth.

    The mean, because a neighbour interrupts few of such short turns, and those for long: the median would not
    see it. `taken` is the share of the wall time in which the core did something else.
    """

    mean_s: float
    low_s: float
    high_s: float
    taken: float
    turns: int


def probe_noise() -> CoreNoise:
    """The slowest usable core now. MachineError where a core gives no answer."""
    command = [sys.executable, "-m", "harness.run.machine.noise_probe"]
    children = [
        subprocess.Popen(
            [*command, str(core), str(SECONDS)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for child in children:  # all have started before any begins
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
    return max((CoreNoise(**answer) for answer in answers), key=lambda core: core.mean_s)


def time_turns(seconds: float) -> CoreNoise:
    """Turns of additions and of a copy in memory, for so many wall seconds."""
    source, target = bytes(BLOCK_BYTES), bytearray(BLOCK_BYTES)
    taken: list[float] = []
    begin, begin_busy = time.perf_counter(), time.process_time()
    while (start := time.perf_counter()) < begin + seconds or len(taken) < 2:
        sum(range(20_000))
        target[:] = source
        taken.append(time.perf_counter() - start)
    wall, busy = time.perf_counter() - begin, time.process_time() - begin_busy
    tenths = statistics.quantiles(taken, n=10)
    return CoreNoise(
        statistics.fmean(taken), tenths[0], tenths[-1], taken=max(0.0, 1 - busy / wall), turns=len(taken)
    )


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(vars(time_turns(float(sys.argv[2])))))
