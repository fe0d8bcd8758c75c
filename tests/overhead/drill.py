"""The drill of overhead: does a case take as long in the harness as in a plain loop in a fresh process?

    python -m tests.overhead.drill

The unit is a pair: one measurement by the harness and one plain loop, one after the other, in an order that
alternates from pair to pair. The estimate is the mean of the pairs' log ratios, its interval by Student's t.
"""

import json
import math
import statistics
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from harness.analysis.stats import SAME, Estimate, read_interval, t_half_width
from harness.catalog import child_process
from harness.catalog.catalog import Catalog
from harness.commands.output import progress_of
from harness.core.case import Case
from harness.core.errors import MachineError
from harness.run.events import Listener
from harness.run.machine.lock import device_lock
from harness.run.machine.probes import run_module
from harness.run.session import run_and_delete
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule

BENCH = Path(__file__).with_name("bench.yaml")

PAIRS = 5
LOOP_SECONDS = 2.0
TIMEOUT_SECONDS = 300.0


def ratio_of(harness: Sequence[float], plain: Sequence[float]) -> Estimate:
    """Seconds per call in the harness over those in the loop, pair by pair, with a 95 % interval."""
    ratios = [math.log(ours / loop) for ours, loop in zip(harness, plain, strict=True)]
    mean, half = statistics.fmean(ratios), t_half_width(statistics.stdev(ratios), len(ratios))
    return Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def compare_with_loops(schedule: Schedule, catalog: Catalog, listener: Listener) -> dict[str, Estimate]:
    """The ratio of every case, measured in pairs. MachineError where a case fails on either side."""
    cases = {case.id: (case, suite.settings) for suite in schedule.suites for case in suite.cases}
    harness: dict[str, list[float]] = {case: [] for case in cases}
    plain: dict[str, list[float]] = {case: [] for case in cases}
    for number in range(PAIRS):
        listener.message(f"pair {number + 1} of {PAIRS}")
        for by_harness in (True, False) if number % 2 else (False, True):
            if by_harness:
                for case, seconds in _measure(schedule, catalog, listener).items():
                    harness[case].append(seconds)
            else:
                with device_lock("cpu"):
                    for case, settings in cases.values():
                        plain[case.id].append(_loop(case, catalog, settings.threads, settings.seed))
    return {case: ratio_of(harness[case], plain[case]) for case in cases}


def _measure(schedule: Schedule, catalog: Catalog, listener: Listener) -> dict[str, float]:
    """Median seconds per call of every case, in a run of the harness that is thrown away."""
    _, records, interrupted = run_and_delete(schedule, catalog, listener, "run")
    if interrupted:
        raise KeyboardInterrupt
    seconds: dict[str, float] = {}
    for record in records:
        if record.timing is None:
            raise MachineError(f"{record.case} was {record.status} in the harness: {record.reason}")
        seconds[record.case] = record.timing.median_s
    return seconds


def _loop(case: Case, catalog: Catalog, threads: int, seed: int) -> float:
    info = catalog.implementation(case.implementation)
    question = {
        "case": case.to_json(),
        "module": info.module,
        "framework": info.framework,
        "threads": threads,
        "seed": seed,
        "seconds": LOOP_SECONDS,
    }
    words, what = ["tests.overhead.plain_loop", json.dumps(question)], f"a plain loop of {case.id}"
    environment = {**child_process.environment(), "JAX_PLATFORMS": "cpu"}
    return float(run_module(words, what, TIMEOUT_SECONDS, environment)["median_s"])


def main() -> int:
    project = Project(BENCH)
    schedule = project.plan(list(project.config.suites))
    with closing(progress_of(schedule)) as progress:
        ratios = compare_with_loops(schedule, project.catalog, progress)
    for case, (ratio, low, high, *_) in ratios.items():
        print(
            f"{case}: harness / plain loop {ratio:.3f} [{low:.3f}, {high:.3f}] {read_interval(ratios[case])}"
        )
    print(f"harness over plain loop: {PAIRS} pairs of runs and fresh processes, 95 % by Student's t")
    return 0 if all(read_interval(ratio) == SAME for ratio in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
