"""Cases with the same program hash: the same compiled program, or the same operators of eager calls.

XLA compiles a call into one program, so equal hashes mean equal programs. A trace of eager torch contains the
operators that a call dispatches, but not the host overhead between them, which also takes time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.analysis.results import SuiteRecords, label_of, static_of, targets
from harness.catalog.known_frameworks import traits_of
from harness.core.grouped import collected
from harness.core.record import Record
from harness.core.workload import Value

PROGRAM, OPERATORS = "program", "operators"
DEFAULT = "by default"  # the value of a field added later: ids omit it at its default


@dataclass(frozen=True)
class SameProgram:
    """Two or more cases (ids) of one length with one program hash on a target.

    `text` names them by what differs: `approx = exact`, `approx[recall 0.95] = approx[recall 1]`. `kind` is
    PROGRAM, or OPERATORS if a case is not a single compiled program.
    """

    suite: str
    target: str
    seq: int
    program: str
    cases: tuple[str, ...]
    text: str
    kind: str = PROGRAM


def same_kind(*cases: Sequence[Record], target: str) -> str | None:
    """PROGRAM or OPERATORS if all cases have one hash on a target; None if they differ or have none."""
    figures = [static_of(records, target) for records in cases]
    if len({static.program if static else None for static in figures}) > 1:
        return None
    if figures[0] is None or not figures[0].program:
        return None
    return _kind(records[0] for records in cases)


def _kind(records: Iterable[Record]) -> str:
    compiled = all(traits_of(record.framework).compiles_calls for record in records)
    return PROGRAM if compiled else OPERATORS


def same_programs(suite: SuiteRecords) -> list[SameProgram]:
    """Same programs per target and length, over implementations, options, modes and workload fields.

    The shortest length comes first. The baseline is named last: `approx = exact`.
    """
    labels = sorted(suite.implementations, key=lambda label: label == suite.baseline)
    order = {label: place for place, label in enumerate(labels)}
    cases = sorted(suite.by_case.values(), key=lambda case: (case[0].seq, order.get(case.label, len(order))))
    alike: list[SameProgram] = []
    for target in targets(suite):
        groups = collected(
            ((records[0].seq, figures.program), records[0])
            for records in cases
            if (figures := static_of(records, target)) and figures.program
        )
        alike += [
            SameProgram(
                suite.name, target, seq, program, tuple(r.case for r in same), _label_alike(same), _kind(same)
            )
            for (seq, program), same in groups.items()
            if len(same) > 1
        ]
    return alike


def _label_alike(alike: Sequence[Record]) -> str:
    """`a = b`; with the fields that differ `a[x 1] = a[x 2]`."""
    points = {r.case: {**r.workload, "mode": r.mode, "device": r.device} for r in alike}
    names = sorted(set[str]().union(*points.values()))
    differing = [name for name in names if len({p.get(name) for p in points.values()}) > 1]
    labels: list[str] = []
    for record in alike:
        point = points[record.case]
        setting = ", ".join(f"{name} {_plain(point.get(name, DEFAULT))}" for name in differing)
        labels.append(label_of(record).split("/", 1)[1] + (f"[{setting}]" if setting else ""))
    return " = ".join(labels)


def _plain(value: Value) -> str:
    """The value as text, floats without trailing zeros: `1`, not `1.0`."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
