"""Scaling exponents of figures over the length, and crossovers: the length from which a case is faster."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from harness.analysis.compare import Comparison
from harness.analysis.results import COUNTED, HOST, SuiteRecords, body_only, static_of, targets
from harness.analysis.stats import FASTER, SLOWER, Estimate, student_t
from harness.core.median_interval import LEVEL
from harness.core.record import Record
from harness.core.units import format_count

FIGURES = ("temp_bytes", "flops", "bytes_accessed")
BEND = 0.5  # local exponents that differ by more do not fit one power of the length

BENDS = "bends"


@dataclass(frozen=True)
class Scaling:
    """metric ∝ seq^exponent, fitted by least squares on logarithms over `points` lengths.

    `metric` is `time` or one of FIGURES, the static figures for `target`. The fit excludes lengths at which a
    figure counts a loop's body only once, and `notes` or `reason` name them. A note that starts with BENDS
    describes how the curve bends.
    """

    suite: str
    implementation: str
    panel: str
    metric: str
    exponent: float | None
    low: float | None
    high: float | None
    reason: str | None
    points: int
    target: str = "host"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Crossover:
    """From `first_grid` on, the implementation is faster than its baseline at every length with both times.

    Alternatively it is faster up to `last_grid` and not beyond. `interpolated` is the length where the log of
    the speedup, interpolated linearly between grid points, changes sign for the last time. It is None unless
    intervals exclude 1 on both sides of it. `reason` says why a value is None. `lacks_baseline`: the longest
    lengths have no baseline.
    """

    suite: str
    implementation: str
    panel: str
    first_grid: int | None
    interpolated: float | None
    reason: str | None
    last_grid: int | None = None
    lacks_baseline: bool = False


def scalings(suite: SuiteRecords, times: Mapping[str, Estimate]) -> list[Scaling]:
    """The fits per panel and implementation: time, then the figures of every target, the host first.

    `times` maps cases to times. Cases that could not run also have compile-time figures, so their fits may
    cover more lengths.
    """
    fits: list[Scaling] = []
    compiled = targets(suite) or [HOST]
    for panel, series in suite.by_panel.items():
        for label in suite.implementations:
            cases = series.get(label, ())
            if not cases:
                continue
            lengths = {records[0].seq: records for records in cases}
            blank = Scaling(suite.name, label, panel, "time", None, None, None, None, 0)
            by_length = {seq: times[records[0].case].value for seq, records in lengths.items()}
            failed = (records[0].status for records in cases if records[0].status != "ok")
            fits.append(_fit_power_law(blank, by_length, next(failed, "")))
            for target in compiled:
                for metric in FIGURES:
                    blank_figure = replace(blank, metric=metric, target=target)
                    fits.append(_fit_figure(blank_figure, lengths, metric, target))
    return fits


def format_length(length: float) -> str:
    """A length between grid points: `9.81Ki`."""
    return f"{length / 1024:.3g}Ki" if length >= 1024 else f"{length:.3g}"


def _fit_figure(blank: Scaling, lengths: Mapping[int, Sequence[Record]], metric: str, target: str) -> Scaling:
    """The fit of a static figure, without the lengths at which a loop's body is counted once."""
    figures = {seq: static_of(records, target) for seq, records in lengths.items()}
    partial = [seq for seq, figure in sorted(figures.items()) if figure and body_only(figure, metric)]
    known = {seq: figure for seq, figure in figures.items() if figure and not body_only(figure, metric)}
    # One counter counts every operation, another only matrix products: their counts cannot share a fit.
    if metric in COUNTED and len({f.flops_source for f in known.values() if getattr(f, metric)}) > 1:
        return _fit_power_law(blank, {}, "counted differently at different lengths")
    reason = "loop body counted once" if partial else "" if known else "not compiled"
    reason = next((f.unavailable[metric] for f in known.values() if getattr(f, metric) is None), reason)
    scaling = _fit_power_law(blank, {seq: getattr(figure, metric) for seq, figure in known.items()}, reason)
    if not partial or scaling.exponent is None:
        return scaling
    left_out = f"loop body counted once, not in the fit: {', '.join(map(format_count, partial))}"
    return replace(scaling, notes=(left_out, *scaling.notes))


def _fit_power_law(blank: Scaling, values: Mapping[int, float | None], cause: str) -> Scaling:
    """The fit of a figure's values. `cause` says why others are missing, in case there are too few."""
    known = {seq: float(value) for seq, value in sorted(values.items()) if value is not None}
    count = len(known)
    if count < 2:
        reason = f"needs ≥ 2 lengths; has {count}{f' ({cause})' if cause else ''}"
        return replace(blank, reason=reason, points=count)
    if not all(known.values()):
        zero = next(seq for seq, value in known.items() if not value)
        return replace(blank, reason=f"0 at {format_count(zero)}: not a power of the length", points=count)
    exponent, low, high = fit(known)
    reason = None if low is not None else f"needs ≥ 3 lengths for an interval; has {count}"
    return replace(
        blank, exponent=exponent, low=low, high=high, reason=reason, points=count, notes=bends(known)
    )


def crossover(compared: Sequence[Comparison]) -> Crossover:
    """The crossover of one implementation's comparisons, shortest length first."""
    named = compared[0].suite, compared[0].implementation, compared[0].panel
    distinct = [c for c in compared if not c.same_program]
    timed = [(c.seq, math.log(c.speedup), c) for c in distinct if c.speedup is not None]
    gap, lacks_baseline = _gap(compared)
    if not distinct:
        return Crossover(*named, None, None, "same program as the baseline at every length")
    if not timed:
        return Crossover(*named, None, None, gap)
    lead = len(timed)
    # Backwards from the longest length: a lead that is lost at a longer length is not a crossover.
    while lead and timed[lead - 1][1] >= 0:
        lead -= 1
    won = next((i for i in range(lead, len(timed)) if timed[i][2].side > 0), None)
    crossings = crossing_lengths([(length, log) for length, log, _ in timed])
    last_win, first_loss = _end_of_lead([c for _, _, c in timed]) if won is None else (None, None)
    reasons = [_verdict(timed, lead, won)]
    # Medians whose intervals contain 1 change sides by chance.
    certain = crossing_lengths([(length, log) for length, log, c in timed if c.side != 0])
    if len(certain) > 1:
        reasons.append(f"{len(certain)} crossings, near {', '.join(map(format_length, certain))}")
    if won is not None and timed[won][2].low is None:
        reasons.append(f"no interval at {format_count(timed[won][0])}: {timed[won][2].reason}")
    interpolated = None
    if won is not None and lead > 0:
        lost = any(c.verdict == SLOWER for _, _, c in timed[:lead])
        interpolated = crossings[-1] if lost and timed[won][2].verdict == FASTER else None
        if interpolated is None:
            reasons.append("intervals do not exclude 1 on both sides of a crossing")
    elif last_win is not None and first_loss is not None:
        interpolated = [length for length in crossings if last_win < length <= first_loss][-1]
    reasons.append(gap)
    reason = "; ".join(filter(None, reasons)) or None
    first_win = None if won is None else timed[won][0]
    return Crossover(*named, first_win, interpolated, reason, last_win, lacks_baseline)


def _end_of_lead(compared: Sequence[Comparison]) -> tuple[int, int] | tuple[None, None]:
    """The last length of a lead that starts at the shortest length, and the first certain loss after it.

    Both have intervals that exclude 1, and the case is not faster at any length after the lead.
    """
    count = next((i for i, c in enumerate(compared) if c.side <= 0), len(compared))
    losses = [c for c in compared[count:] if c.verdict == SLOWER]
    if not count or not losses or compared[count - 1].verdict != FASTER:
        return None, None
    if any(c.side > 0 for c in compared[count:]):
        return None, None
    return compared[count - 1].seq, losses[0].seq


def _verdict(timed: Sequence[tuple[int, float, Comparison]], lead: int, won: int | None) -> str | None:
    """Why the case is not faster at the longest lengths, or a remark on where it is."""
    if won is None:
        if timed[-1][2].side < 0:
            ever = any(c.side > 0 for _, _, c in timed)
            return "slower again at the longest length" if ever else "not faster at any length"
        return "no certain difference at the longest length"
    if won > lead:
        return f"no certain difference at {', '.join(format_count(seq) for seq, *_ in timed[lead:won])}"
    return "faster at every length" if lead == 0 else None


def crossing_lengths(log_ratios: Iterable[tuple[float, float]]) -> list[float]:
    """Every length at which (length, log of a ratio) crosses a ratio of 1, shortest first.

    Interpolation is linear on log axes. A ratio of exactly 1 counts as above 1.
    """
    return [
        short * (long / short) ** (below / (below - above))
        for (short, below), (long, above) in pairwise(log_ratios)
        if (below < 0) != (above < 0)
    ]


def _gap(compared: Sequence[Comparison]) -> tuple[str | None, bool]:
    """(why and from which length the longest lengths have no speedup, whether they lack a baseline)."""
    missing = list(takewhile(lambda comparison: comparison.speedup is None, reversed(compared)))
    if not missing:
        return None, False
    first, at = missing[-1], format_count(missing[-1].seq)
    if first.baseline_outcome:
        return f"no baseline time from {at} ({first.baseline_outcome})", True
    return f"{first.cause} from {at}", False


def fit(values: Mapping[int, float]) -> tuple[float, float | None, float | None]:
    """(exponent, low, high) of value ∝ length^exponent, by Student's t on the residuals.

    Two points give no interval, and data exactly on a power give one of zero width. Results have 12 decimals:
    finer than any data, coarser than the rounding errors of logarithms.
    """
    xs = [math.log2(seq) for seq in values]
    ys = [math.log2(value) for value in values.values()]
    slope, intercept = statistics.linear_regression(xs, ys)
    freedom = len(xs) - 2
    if freedom < 1:
        return _tidy(slope), None, None
    residuals = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    middle = statistics.fmean(xs)
    spread = sum((x - middle) ** 2 for x in xs)
    # The standard error of a slope is sqrt(SSR / (n − 2) / Sxx).
    half = student_t((1 + LEVEL) / 2, freedom) * math.sqrt(residuals / freedom / spread)
    return _tidy(slope), _tidy(slope - half), _tidy(slope + half)


def _tidy(exponent: float) -> float:
    return round(exponent, 12) + 0.0  # without the sign that rounding leaves on zero


def bends(values: Mapping[int, float]) -> tuple[str, ...]:
    """A note if the exponents of the first and the last interval of lengths differ clearly."""
    grid = list(values)
    if len(grid) < 3:
        return ()
    first, last = _local(values, grid[0], grid[1]), _local(values, grid[-2], grid[-1])
    if abs(first - last) <= BEND:
        return ()
    start = f"{first:.2f} over {format_count(grid[0])} to {format_count(grid[1])}"
    end = f"{last:.2f} over {format_count(grid[-2])} to {format_count(grid[-1])}"
    return (f"{BENDS}: exponent {start}, {end}",)


def _local(values: Mapping[int, float], short: int, long: int) -> float:
    return math.log(values[long] / values[short]) / math.log(long / short)
