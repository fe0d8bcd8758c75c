"""Comparison of every case with its group's baseline: speedup with interval, ratios of static figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from harness.analysis.results import (
    BODY_ONLY,
    HOST,
    CaseRecords,
    SuiteRecords,
    body_only,
    representative,
    static_of,
)
from harness.analysis.same_program import OPERATORS, PROGRAM, same_kind
from harness.analysis.stats import (
    FASTER,
    NO_INTERVAL,
    SAME,
    SLOWER,
    Estimate,
    interval_verdict,
    time_saved,
    unanimous_ratio,
)
from harness.core.clocks import is_one_clock
from harness.core.grouped import grouped
from harness.core.record import Record, state_bound
from harness.core.static_figures import Static


@dataclass(frozen=True)
class Comparison:
    """One case compared with its baseline; `case` is an id, `baseline` and `implementation` are labels.

    `speedup` is the baseline's time over the case's: above 1 the case is faster. `low` and `high` bound it at
    95 % over `samples` of `unit` (`rounds` of one process, or `processes`). The ratios are the case's static
    figure over the baseline's: below 1 the case needs less. The cause of a None is in `reason` (speedup and
    interval) or `unavailable` (a ratio, by its name). If the suite or a model has `layers`, `per_step_s` is
    the time that the case saves in that number of calls. `same_program`: the case runs the baseline's
    program, so a speedup is noise and never a crossover. `other_semantics`: its semantics differ from the
    baseline's. `unanimous`: every sample, of two or more, is on the speedup's side of 1. `doubtful`: other
    programs used the processor meanwhile. `cause` is the reason without the `n/a (…)` of tables.
    `baseline_outcome` is set if only the baseline has no time.
    """

    suite: str
    case: str
    baseline: str | None
    speedup: float | None
    low: float | None
    high: float | None
    reason: str | None
    unit: str
    samples: int
    bytes_ratio: float | None
    flops_ratio: float | None
    notes: tuple[str, ...]
    temp_ratio: float | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    implementation: str = ""
    panel: str = ""
    seq: int = 0
    per_step_s: float | None = None
    per_step_low_s: float | None = None
    per_step_high_s: float | None = None
    same_program: bool = False
    other_semantics: bool = False
    unanimous: bool = False
    doubtful: bool = False
    cause: str = ""
    baseline_outcome: str = ""

    @cached_property
    def verdict(self) -> str:
        """The :func:`interval_verdict` of the speedup; SAME if the case runs the baseline's program."""
        speedup = Estimate(self.speedup, self.low, self.high, unit=self.unit, doubtful=self.doubtful)
        return SAME if self.same_program else interval_verdict(speedup.inverse)

    @cached_property
    def side(self) -> int:
        """1 if the case is faster than the baseline, −1 if it is slower, 0 if undecided.

        Without an interval the speedup decides.
        """
        value = self.speedup or 1.0
        return {FASTER: 1, SLOWER: -1, NO_INTERVAL: (value > 1) - (value < 1)}.get(self.verdict, 0)


def comparisons(suite: SuiteRecords, target: str = HOST) -> list[Comparison]:
    """The comparison of every case except the baseline's, in the order of the suite's records."""
    return [
        _compare(suite, records, suite.baselines.get(records.group, ()), target)
        for records in suite.by_case.values()
        if records.label != suite.baseline
    ]


def series_of(compared: Iterable[Comparison]) -> dict[tuple[str, str], list[Comparison]]:
    """(panel, implementation) → its comparisons, shortest length first."""
    ordered = sorted(compared, key=lambda comparison: comparison.seq)
    return grouped(ordered, lambda comparison: (comparison.panel, comparison.implementation))


def _compare(suite: SuiteRecords, records: CaseRecords, base: tuple[Record, ...], target: str) -> Comparison:
    cause, baseline_outcome = _why_no_speedup(suite, records, base)
    none = Estimate(None, reason=f"n/a ({cause})"), False
    speedup, unanimous = none if cause else unanimous_ratio(base, records)
    layers = suite.layers_of(records[0].case)
    timed = speedup.value is not None and layers is not None
    per_step = time_saved(records, base, layers) if timed and layers else Estimate(None)
    mine, theirs = static_of(records, target), static_of(base, target)
    ratios = {name: _figure_ratio(name, mine, theirs) for name in ("bytes_accessed", "temp_bytes", "flops")}
    return Comparison(
        suite=suite.name,
        **records.point,
        baseline=suite.baseline or None,
        **speedup.flat_fields("speedup", "low", "high", "reason", "unit", "samples", "doubtful"),
        bytes_ratio=ratios["bytes_accessed"][0],
        temp_ratio=ratios["temp_bytes"][0],
        flops_ratio=ratios["flops"][0],
        unavailable={name: missing for name, (_, missing) in ratios.items() if missing},
        notes=(*_notes(records, base, target, speedup), *speedup.warnings) if base else (),
        per_step_s=per_step.value,
        per_step_low_s=per_step.low,
        per_step_high_s=per_step.high,
        same_program=bool(base) and _same_program(records, base, target),
        other_semantics=bool(base) and representative(records).semantics != representative(base).semantics,
        unanimous=unanimous,
        cause=cause or speedup.reason or "",
        baseline_outcome=baseline_outcome,
    )


def _same_program(records: Sequence[Record], base: Sequence[Record], target: str) -> bool:
    """Whether the program hashes are equal, or a fact of the case is `exact by fallback`."""
    fallback = f"{representative(base).semantics} by fallback"
    stated = fallback in representative(records).facts.values()
    return stated or same_kind(records, base, target=target) == PROGRAM


def _why_no_speedup(
    suite: SuiteRecords, records: Sequence[Record], base: Sequence[Record]
) -> tuple[str, str]:
    """(why a case has no speedup, its baseline's outcome if that is the reason); empty with a speedup."""
    if not suite.baseline:
        return "no baseline", ""
    mine = representative(records)
    if mine.timing is None:
        return _outcome(mine), ""
    if not base:
        return "no baseline at this workload", ""
    theirs = representative(base)
    if theirs.timing is None:
        return f"baseline {_outcome(theirs)}", _outcome(theirs)
    if not {record.run for record in records} & {record.run for record in base}:
        return "baseline in another run", "in another run"
    if not is_one_clock(mine.timing.method, theirs.timing.method):
        return f"timed by {mine.timing.method}, the baseline by {theirs.timing.method}", ""
    return "", ""


def _outcome(record: Record) -> str:
    return "not timed" if record.status == "ok" else record.status


def _figure_ratio(name: str, mine: Static | None, theirs: Static | None) -> tuple[float | None, str | None]:
    """(case over baseline, None) or (None, why there is no ratio)."""
    why = incomparable(name, mine, theirs)
    if why is not None:
        return None, why
    own, other = getattr(mine, name), getattr(theirs, name)
    if not other:
        return None, "the baseline's is 0"
    return own / other, None


def incomparable(name: str, mine: Static | None, theirs: Static | None) -> str | None:
    """Why a figure cannot be compared with the baseline's; None if it can."""
    if mine is None:
        return "not compiled"
    if theirs is None:
        return "baseline not compiled"
    if getattr(mine, name) is None:
        return mine.unavailable[name]
    if getattr(theirs, name) is None:
        return f"baseline: {theirs.unavailable[name]}"
    if body_only(mine, name) or body_only(theirs, name):
        return BODY_ONLY
    if name == "flops" and mine.flops_source != theirs.flops_source:
        return f"counted differently: {mine.flops_source} (baseline: {theirs.flops_source})"
    return None


NOT_EQUIVALENT = "not mathematically equivalent"
_SAME = {PROGRAM: "a time difference is noise", OPERATORS: "only host overhead between them can differ"}
_STILL_DIFFERENT = "the interval still excludes 1, for a reason outside the program"


def _notes(
    records: Sequence[Record], base: Sequence[Record], target: str, speedup: Estimate
) -> tuple[str, ...]:
    """The notes that qualify the speedup."""
    mine, theirs = representative(records), representative(base)
    notes: list[str] = []
    if mine.semantics != theirs.semantics:
        notes.append(f"semantics {mine.semantics} (baseline: {theirs.semantics}): {NOT_EQUIVALENT}")
    notes += state_bound(mine.bound)
    notes += [f"baseline: {sentence}" for sentence in state_bound(theirs.bound)]
    static, kind = static_of(records, target), same_kind(records, base, target=target)
    if static and static.program and kind:
        short = static.program.removeprefix("sha256:")[:8]
        differs = kind != OPERATORS and interval_verdict(speedup.inverse) in {FASTER, SLOWER}
        meaning = _STILL_DIFFERENT if differs else _SAME[kind]
        notes.append(f"same {kind} as the baseline ({mine.mode} hash {short}): {meaning}")
    return tuple(notes)
