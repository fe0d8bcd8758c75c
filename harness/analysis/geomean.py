"""One number for a whole sweep: the geometric mean of an implementation's speedups.

Only lengths at which both sides were timed enter it, so each mean records how many of the lengths it
covers, and two means may be ranked only where they cover the same ones.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.analysis.compare import Comparison
from harness.analysis.results import SuiteRecords, by_case, label_of, panel_of, points
from harness.analysis.stats import BY_PROCESS, PROCESSES, round_log_ratios, t_half_width, too_few
from harness.core.record import Record
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
    cases = by_case(suite.records)
    bases = {
        records[0].as_case.group: records
        for records in cases.values()
        if label_of(records[0]) == suite.baseline
    }
    series: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in sorted(compared, key=lambda comparison: comparison.seq):
        series.setdefault((comparison.panel, comparison.implementation), []).append(comparison)
    result: list[Mean] = []
    for panel in points(suite):
        of = len({record.seq for record in suite.records if panel_of(record) == panel})
        panels = [
            _mean(suite, series[panel, label], of, cases, bases)
            for label in suite.implementations
            if (panel, label) in series
        ]
        result += _note_missing_lengths(panels)
    return result


def _mean(
    suite: SuiteRecords,
    compared: Sequence[Comparison],
    of: int,
    cases: Mapping[str, Sequence[Record]],
    bases: Mapping[str, Sequence[Record]],
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
    effects: list[dict[Process, float]] = []
    for comparison, _ in paired:
        records = cases[comparison.case]
        effects.append(_effects(records, bases[records[0].as_case.group]))
    half, reason = _half_width(effects)
    # The same centre as the interval's: means over lengths and over processes may be taken in either order.
    mean = statistics.fmean(log for _, log in paired)
    return replace(
        blank,
        mean=math.exp(mean),
        low=None if half is None else math.exp(mean - half),
        high=None if half is None else math.exp(mean + half),
        reason=reason,
    )


def _effects(records: Sequence[Record], base: Sequence[Record]) -> dict[Process, float]:
    """Process → its log speedup: the median over the rounds that both sides have."""
    base_timings = {(record.run, record.replicate): record.timing for record in base}
    effects: dict[Process, float] = {}
    for record in records:
        process = (record.run, record.replicate)
        base_timing = base_timings.get(process)
        if record.timing is not None and base_timing is not None:
            logs = round_log_ratios(base_timing, record.timing)
            effects |= {process: statistics.median(logs)} if logs else {}
    return effects


def _half_width(effects: Sequence[Mapping[Process, float]]) -> tuple[float | None, str | None]:
    """(half the interval of the mean log, None) or (None, why there is no interval).

    The mean over lengths is taken within each process first: a process is the sampling unit.
    """
    fewest = min(len(length_effects) for length_effects in effects)
    if fewest < PROCESSES:
        return None, too_few(fewest, BY_PROCESS)
    # Else the means of processes would be over different lengths, and spread by that as well as by noise.
    if any(length_effects.keys() != effects[0].keys() for length_effects in effects):
        return None, "not every length was timed by the same processes"
    by_process = [
        statistics.fmean(length_effects[process] for length_effects in effects) for process in effects[0]
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
