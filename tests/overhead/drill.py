"""Overhead drill: compares the time of a case in the harness with a plain loop in a fresh process.

    python -m tests.overhead.drill

A pair is one measurement by the harness and one plain loop, in alternating order. The estimate is the mean of
the pairs' log ratios, with Student's t interval.
"""

import json
import math
import statistics
import sys
from contextlib import closing
from pathlib import Path

from harness.analysis.stats import SAME, Estimate, interval_verdict, t_half_width
from harness.catalog import child_process
from harness.commands.output import progress_of
from harness.core.case import Case
from harness.core.errors import MachineError
from harness.run.machine.lock import device_lock
from harness.run.machine.probes import run_module
from harness.run.session import run_and_delete
from harness.sweep.project import Project

BENCH = Path(__file__).with_name("bench.yaml")
PAIRS = 5
LOOP_SECONDS = 2.0
TIMEOUT_SECONDS = 300.0


def main() -> int:
    project = Project(BENCH)
    schedule = project.plan(list(project.config.suites))
    cases = {case.id: (case, suite.settings) for suite in schedule.suites for case in suite.cases}
    ratios: dict[str, list[float]] = {case: [] for case in cases}
    with closing(progress_of(schedule)) as progress:

        def by_harness() -> dict[str, float]:
            _, records, _ = run_and_delete(schedule, project.catalog, progress, "run")
            timed = {record.case: record.timing.median_s for record in records if record.timing}
            if missing := sorted(cases.keys() - timed.keys()):
                raise MachineError(f"the harness has no time for {', '.join(missing)}")
            return timed

        def by_loop() -> dict[str, float]:
            with device_lock("cpu"):
                return {
                    name: loop_seconds(case, project, settings.threads, settings.seed)
                    for name, (case, settings) in cases.items()
                }

        for number in range(PAIRS):
            progress.message(f"pair {number + 1} of {PAIRS}")
            if number % 2:
                harness, plain = by_harness(), by_loop()
            else:
                plain, harness = by_loop(), by_harness()
            for name, logs in ratios.items():
                logs.append(math.log(harness[name] / plain[name]))
    verdicts: list[str] = []
    for name, logs in ratios.items():
        mean, half = statistics.fmean(logs), t_half_width(statistics.stdev(logs), len(logs))
        found = Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
        verdicts.append(interval_verdict(found))
        print(f"{name}: harness / plain loop {found[0]:.3f} [{found[1]:.3f}, {found[2]:.3f}] {verdicts[-1]}")
    print(f"{PAIRS} pairs of a run and a plain loop; 95 % intervals by Student's t")
    return 0 if set(verdicts) == {SAME} else 1


def loop_seconds(case: Case, project: Project, threads: int, seed: int) -> float:
    """Median seconds of a call in a plain loop in a separate process."""
    info = project.catalog.implementation(case.implementation)
    request = {
        "case": case.to_json(),
        "module": info.module,
        "framework": info.framework,
        "threads": threads,
        "seed": seed,
        "seconds": LOOP_SECONDS,
    }
    arguments, what = ["tests.overhead.plain_loop", json.dumps(request)], f"a plain loop of {case.id}"
    environment = {**child_process.environment(), "JAX_PLATFORMS": "cpu"}
    return float(run_module(arguments, what, TIMEOUT_SECONDS, environment)["median_s"])


if __name__ == "__main__":
    sys.exit(main())
