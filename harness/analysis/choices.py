"""Choices of a suite: which implementation to call, over all of its axes that vary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.length_choices import LengthChoices, choose_by_length
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.core.clocks import clock_of
from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.core.record import Record
from harness.core.units import format_count
from harness.core.workload import Value, canonical

INEXACT = "not mathematically equivalent to the baseline; --inexact takes it, too"


@dataclass(frozen=True)
class SuiteChoices:
    """The choices by length at each point of `axes`, the fields beside the length that vary.

    `left_out` says of implementations where they were no candidates, and why; `inexact` are candidates
    that are not mathematically equivalent to the baseline.
    """

    suite: SuiteRecords
    axes: tuple[str, ...]
    fixed: Mapping[str, Value]
    points: Mapping[tuple[Value, ...], LengthChoices]
    left_out: Mapping[str, str]
    inexact: frozenset[str]


def suite_choices(
    suite: SuiteRecords, defaults: Mapping[str, Value], *, inexact: bool = False
) -> SuiteChoices:
    """The choices of a suite; `defaults` are the values of fields that records leave out.

    Candidates have kept their contract, were timed by the baseline's clock, in its run, on its machine and
    with its inputs, and have its semantics, unless `inexact`. UsageError without a baseline or a candidate.
    """
    if not suite.by_label.get(suite.baseline):
        raise UsageError(f"suite {suite.name} has no baseline to keep in doubt; name one with --baseline")
    meaning = representative(suite.by_label[suite.baseline][0]).semantics
    refused: dict[str, dict[str, list[CaseRecords]]] = {}  # label → reason → cases
    cases: list[CaseRecords] = []
    conditions: dict[str, tuple[object, ...]] = {}  # of a group: its baseline's, else the first's
    for case in sorted(suite.by_case.values(), key=lambda case: case.label != suite.baseline):
        why = _refusal(case, conditions, "" if inexact else meaning)
        if why:
            refused.setdefault(case.label, {}).setdefault(why, []).append(case)
        else:
            cases.append(case)
    if not cases:
        raise UsageError(f"suite {suite.name} has no time beside its baseline's; measure with: seqsweep run")
    points = {case[0].case: _point(case, defaults) for case in suite.by_case.values()}
    axes, fixed = _divide_fields(suite, points)
    at_points = grouped(cases, lambda case: tuple(points[case[0].case].get(name) for name in axes))
    return SuiteChoices(
        suite,
        axes,
        fixed,
        {
            point: choose_by_length(_by_length(members), suite.baseline)
            for point, members in at_points.items()
        },
        {
            label: "; ".join(_refused_at(why, cases, axes, points) for why, cases in whys.items())
            for label, whys in refused.items()
        },
        frozenset(case.label for case in cases if _differs(representative(case), meaning)),
    )


def _divide_fields(
    suite: SuiteRecords, points: Mapping[str, Mapping[str, Value]]
) -> tuple[tuple[str, ...], dict[str, Value]]:
    """(the fields beside the length that vary over the cases, the values of those that do not).

    Of the latter only what records name: a default that no case sets says nothing of the suite.
    """
    names = sorted({name for point in points.values() for name in point} - {"seq"})
    values = {name: [point.get(name) for point in points.values()] for name in names}
    axes = tuple(name for name in names if len(set(values[name])) > 1)
    named = {"mode", "device"}.union(*(case[0].workload for case in suite.by_case.values()))
    return axes, {name: values[name][0] for name in names if name in named and name not in axes}


def _point(case: CaseRecords, defaults: Mapping[str, Value]) -> dict[str, Value]:
    record = case[0]
    return {**defaults, **record.workload, "mode": record.mode, "device": record.device}


def _by_length(cases: list[CaseRecords]) -> dict[int, dict[str, CaseRecords]]:
    by_length = grouped(sorted(cases, key=lambda case: case[0].seq), lambda case: case[0].seq)
    return {seq: {case.label: case for case in members} for seq, members in by_length.items()}


def _differs(record: Record, meaning: str) -> bool:
    """Whether a record's result means something else than this semantics."""
    return record.semantics != meaning or bool(record.bound)


def _refused_at(
    why: str, cases: Iterable[CaseRecords], axes: Sequence[str], points: Mapping[str, Mapping[str, Value]]
) -> str:
    """`at 16Ki, 64Ki (oom)`, or with axes `at 16Ki with mode=fwd_bwd (oom)`; for INEXACT the reason alone."""
    if why == INEXACT:
        return f"({why})"
    lengths: dict[str, dict[str, None]] = {}  # of a point, once each
    for case in cases:
        point = points[case[0].case]
        where = " ".join(f"{name}={canonical(point.get(name))}" for name in axes)
        lengths.setdefault(where, {})[format_count(case[0].seq)] = None
    places = (f"{', '.join(at)}{f' with {where}' if where else ''}" for where, at in lengths.items())
    return f"at {', and at '.join(places)} ({why})"


def _refusal(case: CaseRecords, conditions: dict[str, tuple[object, ...]], meaning: str) -> str:
    """Why a case is no candidate; empty where it is. Without a `meaning` any semantics will do."""
    record = representative(case)
    failed = next((replicate.status for replicate in case if replicate.status != "ok"), None)
    if meaning and _differs(record, meaning):
        return INEXACT
    if failed or record.timing is None:
        return failed or "not timed"
    mine = record.run, record.seed, record.fingerprint, clock_of(record.timing.method), record.timing.cache
    return "" if conditions.setdefault(case.group, mine) == mine else "measured otherwise"
