"""`doctor --self-check`: does a case take as long in the harness as in a plain loop in a fresh process?

The unit is a pair: one measurement by the harness and one plain loop, one after the other, in an order that
alternates from pair to pair. The estimate is the mean of the pairs' log ratios, its interval by Student's t.
"""

import math
import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from harness.analysis.stats import Estimate, read_interval, t_half_width
from harness.catalog import child_process
from harness.catalog.catalog import Catalog
from harness.commands.output import print_table, progress_of
from harness.core.case import Case
from harness.core.errors import MachineError, UsageError
from harness.report.tables.listing import agreements_table
from harness.run.events import Listener
from harness.run.machine.lock import device_lock
from harness.run.processes.module_subprocess import run_module
from harness.run.session import run_and_delete
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule

SUITES = "self_check"  # what the names of its suites begin with

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
    pairs: int
    reading: str  # of the harness against the loop, by the 95 % interval of the ratio


def agreement_of(case: str, harness: Sequence[float], plain: Sequence[float]) -> Agreement:
    """The agreement of a case from its seconds per call in the harness and in the loop, pair by pair."""
    ratios = [math.log(ours / loop) for ours, loop in zip(harness, plain, strict=True)]
    mean, half = statistics.fmean(ratios), t_half_width(statistics.stdev(ratios), len(ratios))
    interval = (math.exp(mean), math.exp(mean - half), math.exp(mean + half))
    medians = statistics.median(harness), statistics.median(plain)
    return Agreement(case, *medians, *interval, len(ratios), read_interval(Estimate(*interval)))


def check_self(project: Project, *, json: bool) -> None:
    """Measure the suites whose names begin with self_check, and print a line per case."""
    suites = [name for name in project.config.suites if name.startswith(SUITES)]
    if not suites:
        raise UsageError(
            f"{project.config.path}: no suite's name begins with {SUITES}; add the cases to compare"
        )
    schedule = project.plan(suites)
    for case in (case for suite in schedule.suites for case in suite.cases):
        if (case.mode, case.device) != ("fwd", "cpu"):
            raise UsageError(
                f"{case.id}: a plain loop is a forward on the cpu; take it out of the suites {SUITES}…"
            )
    with closing(progress_of(schedule)) as progress:
        agreements = compare_with_loops(schedule, project.catalog, progress)
    data = {"cases": [vars(agreement) for agreement in agreements]}
    print_table(data, lambda: agreements_table(agreements), json=json)


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
    words, what = ["harness.worker.plain_loop"], f"a plain loop of {case.id}"
    environment = {**child_process.environment(), "JAX_PLATFORMS": "cpu"}
    return float(run_module(words, what, TIMEOUT_SECONDS, environment, question)["median_s"])
