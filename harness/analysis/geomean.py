"""One number for a whole sweep: the geometric mean of an implementation's speedups.

Only lengths at which both sides were timed enter it, so each mean records how many of the lengths it
covers, and two means may be ranked only where they cover the same ones.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.analysis.compare import Comparison, panel_series
from harness.analysis.results import SuiteRecords
from harness.analysis.stats import (
    BY_PROCESS,
    PROCESSES,
    Estimate,
    log_by_process,
    standard_deviation,
    t_half_width,
    too_few,
)
from harness.core.units import format_count

PAIRED = 2  # with fewer speedups no mean is given


@dataclass(frozen=True)
class Mean:
    """The geometric mean over `lengths`, which are `n` of the panel's `of`.

    `low` and `high` bound it at 95 % over processes, each with one mean over the same lengths. `reason`
    is the cause of any value that is None. A note says when another mean of the panel covers more lengths.
    """

    suite: str
    implementation: str
    baseline: str
    panel: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    reason: str | None
    lengths: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def means(suite: SuiteRecords, compared: Iterable[Comparison]) -> list[Mean]:
    """A mean per panel and implementation but the baseline; empty where the suite has no baseline."""
    result: list[Mean] = []
    for panel, listed in panel_series(suite, compared).items():
        of = len({records[0].seq for cases in suite.by_panel[panel].values() for records in cases})
        result += _note_missing_lengths([_mean(suite, series, of) for series in listed])
    return result


def _mean(suite: SuiteRecords, compared: Sequence[Comparison], of: int) -> Mean:
    paired = [comparison for comparison in compared if comparison.speedup is not None]
    mean = Estimate(None, reason=f"geometric mean needs ≥ {PAIRED} paired points; has {len(paired)}")
    if len(paired) >= PAIRED:
        # The centre of the interval, too: means over lengths and processes may be taken in either order.
        log = statistics.fmean(math.log(comparison.speedup or 1.0) for comparison in paired)
        mean = _with_interval(suite, paired, log).map(math.exp)
    return Mean(
        suite=suite.name,
        implementation=compared[0].implementation,
        baseline=suite.baseline,
        panel=compared[0].panel,
        **mean.flat_fields("mean", "low", "high", "reason"),
        n=len(paired),
        of=of,
        lengths=tuple(comparison.seq for comparison in paired),
    )


def _with_interval(suite: SuiteRecords, paired: Sequence[Comparison], log: float) -> Estimate:
    """The mean log with its interval, or with the reason why it has none.

    The mean over lengths is taken within each process first: a process is the sampling unit.
    """
    cases = [suite.by_case[comparison.case] for comparison in paired]
    lengths = [log_by_process(suite.baselines[records.group], records) for records in cases]
    fewest = min(map(len, lengths))
    if fewest < PROCESSES:
        return Estimate(log, reason=too_few(fewest, BY_PROCESS))
    # Else the means of processes would be over different lengths, and spread by that as well as by noise.
    if any(length.keys() != lengths[0].keys() for length in lengths):
        return Estimate(log, reason="not every length was timed by the same processes")
    by_process = [statistics.fmean(length[process] for length in lengths) for process in lengths[0]]
    half = t_half_width(standard_deviation(by_process), len(by_process))
    return Estimate(log, log - half, log + half)


def _note_missing_lengths(panel: Sequence[Mean]) -> list[Mean]:
    """The means of a panel, with a note on each that lacks a length which another covers."""
    all_lengths = {length for mean in panel if mean.mean is not None for length in mean.lengths}
    noted: list[Mean] = []
    for mean in panel:
        notes: tuple[str, ...] = ()
        if mean.mean is not None and set(mean.lengths) != all_lengths:
            lengths = ", ".join(map(format_count, mean.lengths))
            notes = (f"over {lengths}: rank it only with means over the same lengths",)
        noted.append(replace(mean, notes=notes))
    return noted
