"""One number for a whole sweep: the geometric mean of an implementation's speedups.

Only lengths at which both sides were timed enter it, so a mean says over how many of the lengths
it is, and two means may be ranked only where they are over the same ones.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import SuiteRecords, by_case, label_of, panel_of, points
from harness.analysis.stats import BY_PROCESS, PROCESSES, round_log_ratios, t_half_width, too_few
from harness.core.record import Record
from harness.core.units import format_count

PAIRED = 2  # fewer speedups have no mean

Process = tuple[str, int]


@dataclass(frozen=True)
class Mean:
    """The geometric mean over `lengths`, which are `n` of the panel's `of`.

    `low` and `high` bound it at 95 % over processes, each with one mean over the same lengths. What
    is None has its cause in `reason`. A note says when another mean of the panel is over more lengths.
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


def means(suite: SuiteRecords) -> list[Mean]:
    """Per panel, every implementation but the baseline; none where the suite has no baseline."""
    if not suite.baseline:
        return []
    cases = by_case(suite.records)
    bases = {own[0].as_case.group: own for own in cases.values() if label_of(own[0]) == suite.baseline}
    series: dict[tuple[str, str], list[Comparison]] = {}
    for found in sorted(comparisons(suite), key=lambda found: found.seq):
        series.setdefault((found.panel, found.implementation), []).append(found)
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
    paired = [(found, math.log(found.speedup)) for found in compared if found.speedup is not None]
    lengths = tuple(found.seq for found, _ in paired)
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
    for found, _ in paired:
        own = cases[found.case]
        effects.append(_effects(own, bases[own[0].as_case.group]))
    half, reason = _half_width(effects)
    mean = statistics.fmean(log for _, log in paired)
    return replace(
        blank,
        mean=math.exp(mean),
        low=None if half is None else math.exp(mean - half),
        high=None if half is None else math.exp(mean + half),
        reason=reason,
    )


def _effects(own: Sequence[Record], base: Sequence[Record]) -> dict[Process, float]:
    """Process → log of the speedup in it: the median over the rounds that both sides have."""
    theirs = {(record.run, record.replicate): record.timing for record in base}
    found: dict[Process, float] = {}
    for record in own:
        process = (record.run, record.replicate)
        other = theirs.get(process)
        if record.timing is not None and other is not None:
            logs = round_log_ratios(other, record.timing)
            found |= {process: statistics.median(logs)} if logs else {}
    return found


def _half_width(effects: Sequence[Mapping[Process, float]]) -> tuple[float | None, str | None]:
    """(half the interval of the mean log, None) or (None, why there is none)."""
    fewest = min(len(own) for own in effects)
    if fewest < PROCESSES:
        return None, too_few(fewest, BY_PROCESS)
    if any(own.keys() != effects[0].keys() for own in effects):
        return None, "not every length was timed by the same processes"
    by_process = [statistics.fmean(own[process] for own in effects) for process in effects[0]]
    return t_half_width(statistics.stdev(by_process), len(by_process)), None


def _note_missing_lengths(panel: Sequence[Mean]) -> list[Mean]:
    """The means of a panel, with a note on those that lack a length which another is over."""
    most = {length for found in panel if found.mean is not None for length in found.lengths}
    return [
        replace(found, notes=(_fewer(found.lengths),))
        if found.mean is not None and set(found.lengths) != most
        else found
        for found in panel
    ]


def _fewer(lengths: Sequence[int]) -> str:
    return f"over {', '.join(map(format_count, lengths))}: rank it only with means over the same lengths"
