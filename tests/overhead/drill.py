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
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group
from rich.text import Text

from harness.analysis.stats import SAME, Estimate, read_interval, t_half_width
from harness.catalog import child_process
from harness.catalog.catalog import Catalog
from harness.commands.output import progress_of
from harness.core.case import Case
from harness.core.errors import MachineError
from harness.core.units import format_seconds
from harness.report.tables.listing import plain_table
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


@dataclass(frozen=True)
class Agreement:
    """A case in the harness against a plain loop: seconds per call, and their ratio over the pairs."""

    case: str
    harness_s: float
    plain_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    reading: str  # of the harness against the loop, by the 95 % interval of the ratio


def agreement_of(case: str, harness: Sequence[float], plain: Sequence[float]) -> Agreement:
    """The agreement of a case from its seconds per call in the harness and in the loop, pair by pair."""
    ratios = [math.log(ours / loop) for ours, loop in zip(harness, plain, strict=True)]
    mean, half = statistics.fmean(ratios), t_half_width(statistics.stdev(ratios), len(ratios))
    interval = (math.exp(mean), math.exp(mean - half), math.exp(mean + half))
    medians = statistics.median(harness), statistics.median(plain)
    return Agreement(case, *medians, *interval, read_interval(Estimate(*interval)))


def agreements_table(agreements: Sequence[Agreement]) -> Group:
    """Cases in the harness beside the same in plain loops."""
    numbers = ("harness", "plain loop", "harness / plain")
    table = plain_table("case", *numbers, "", right=numbers)
    for agreement in agreements:
        table.add_row(
            agreement.case,
            format_seconds(agreement.harness_s, 3),
            format_seconds(agreement.plain_s, 3),
            f"{agreement.ratio:.3f} [{agreement.ratio_low:.3f}, {agreement.ratio_high:.3f}]",
            Text(agreement.reading, style="green" if agreement.reading == SAME else "yellow"),
        )
    return Group(
        table, Text(f"ratio of medians, {PAIRS} pairs of runs and fresh processes, 95 % by Student's t")
    )


def compare_with_loops(schedule: Schedule, catalog: Catalog, listener: Listener) -> list[Agreement]:
    """Measure in pairs; nothing is stored. MachineError where a case fails on either side."""
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
    return [agreement_of(case, harness[case], plain[case]) for case in cases]


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
        agreements = compare_with_loops(schedule, project.catalog, progress)
    Console().print(agreements_table(agreements))
    return 0 if all(agreement.reading == SAME for agreement in agreements) else 1


if __name__ == "__main__":
    sys.exit(main())
