"""One number for a whole sweep: the geometric mean of an implementation's speedups.

Only lengths at which both sides were timed enter it, so each mean records how many of the lengths it
covers, and two means may be ranked only where they cover the same ones.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.analysis.compare import Comparison, series_of
from harness.analysis.results import CaseRecords, SuiteRecords
from harness.analysis.stats import BY_PROCESS, PROCESSES, round_log_ratios, t_half_width, too_few
from harness.core.record import Timing
from harness.core.units import format_count

PAIRED = 2  # with fewer speedups no mean is given

Process = tuple[str, int]


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
    if not suite.baseline:
        return []
    series = series_of(compared)
    result: list[Mean] = []
    for panel, cases in suite.by_panel.items():
        of = len({records[0].seq for listed in cases.values() for records in listed})
        panels = [
            _mean(suite, series[panel, label], of)
            for label in suite.implementations
            if (panel, label) in series
        ]
        result += _note_missing_lengths(panels)
    return result


def _mean(
    suite: SuiteRecords,
    compared: Sequence[Comparison],
    of: int,
) -> Mean:
    paired = [
        (comparison, math.log(comparison.speedup))
        for comparison in compared
        if comparison.speedup is not None
    ]
    lengths = tuple(comparison.seq for comparison, _ in paired)
    blank = Mean(
        suite=suite.name,
        implementation=compared[0].implementation,
        baseline=suite.baseline,
        panel=compared[0].panel,
        mean=None,
        low=None,
        high=None,
        n=len(paired),
        of=of,
        reason=None,
        lengths=lengths,
    )
    if len(paired) < PAIRED:
        reason = f"geometric mean needs ≥ {PAIRED} paired points; has {len(paired)}"
        return replace(blank, reason=reason)
    sides = [
        (suite.by_case[comparison.case], suite.baselines[suite.by_case[comparison.case].group])
        for comparison, _ in paired
    ]
    half, reason = _half_width(sides)
    # The same centre as the interval's: means over lengths and over processes may be taken in either order.
    mean = statistics.fmean(log for _, log in paired)
    return replace(
        blank,
        mean=math.exp(mean),
        low=None if half is None else math.exp(mean - half),
        high=None if half is None else math.exp(mean + half),
        reason=reason,
    )


def _timed_by_both(records: CaseRecords, base: CaseRecords) -> dict[Process, tuple[Timing, Timing]]:
    """Process → the timings of the case and of its baseline, where they have a round in common."""
    base_timings = {(record.run, record.replicate): record.timing for record in base}
    timings: dict[Process, tuple[Timing, Timing]] = {}
    for record in records:
        process = (record.run, record.replicate)
        mine, theirs = record.timing, base_timings.get(process)
        if mine is not None and theirs is not None and not set(mine.round).isdisjoint(theirs.round):
            timings[process] = mine, theirs
    return timings


def _half_width(sides: Sequence[tuple[CaseRecords, CaseRecords]]) -> tuple[float | None, str | None]:
    """(half the interval of the mean log, None) or (None, why there is no interval).

    `sides` are the case and its baseline at every length. The mean over lengths is taken within each
    process first: a process is the sampling unit.
    """
    lengths = [_timed_by_both(records, base) for records, base in sides]
    fewest = min(map(len, lengths))
    if fewest < PROCESSES:
        return None, too_few(fewest, BY_PROCESS)
    # Else the means of processes would be over different lengths, and spread by that as well as by noise.
    if any(length.keys() != lengths[0].keys() for length in lengths):
        return None, "not every length was timed by the same processes"
    by_process = [
        statistics.fmean(statistics.median(round_log_ratios(base, mine)) for mine, base in timings)
        for timings in zip(*([length[process] for process in lengths[0]] for length in lengths), strict=True)
    ]
    return t_half_width(statistics.stdev(by_process), len(by_process)), None


def _note_missing_lengths(panel: Sequence[Mean]) -> list[Mean]:
    """The means of a panel, with a note on each that lacks a length which another covers."""
    all_lengths = {length for mean in panel if mean.mean is not None for length in mean.lengths}
    return [
        replace(mean, notes=(_fewer(mean.lengths),))
        if mean.mean is not None and set(mean.lengths) != all_lengths
        else mean
        for mean in panel
    ]


def _fewer(lengths: Sequence[int]) -> str:
    return f"over {', '.join(map(format_count, lengths))}: rank it only with means over the same lengths"
