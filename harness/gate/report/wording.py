"""Wording of a gate: names of cases, sentences, and the presentation of each verdict."""

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.core.case import split_id
from harness.core.grouped import grouped
from harness.core.units import format_count, format_ratio
from harness.gate.outcome import (
    IMPROVED,
    INCORRECT,
    INVALID,
    NEW,
    NOT_ENOUGH,
    REGRESSED,
    STATIC,
    UNCHANGED,
    VANISHED,
    WARN,
    WEIGHT,
    CaseVerdict,
    GateOutcome,
)
from harness.gate.timed.decision import GROSS
from harness.report.format import first_few, short_label


@dataclass(frozen=True)
class Name:
    """Parts of a case id. `where` has the workload without its length, the mode and the device.

    Each entry of `where` is (name, text). An id of another form is only a label, without parts.
    """

    case: str
    label: str
    seq: int | None = None
    where: tuple[tuple[str, str], ...] = ()

    @property
    def family(self) -> str:
        return self.label.split("/", 1)[0] if "/" in self.label else "cases"

    @property
    def implementation(self) -> str:
        return short_label(self.label) if "/" in self.label else self.label

    @property
    def length(self) -> str:
        return "–" if self.seq is None else format_count(self.seq)

    @property
    def short(self) -> str:
        """`mask/scatter at 16Ki`, for titles; the full id is printed next to it."""
        return self.label if self.seq is None else f"{self.label} at {format_count(self.seq)}"


def name_of(case: str) -> Name:
    try:
        parts = split_id(case)
    except ValueError:
        return Name(case, case)
    fields = parts.fields
    seq = fields.pop("seq", "")
    workload = ((name, _value(value)) for name, value in fields.items())
    where = (*workload, ("mode", parts.mode), ("device", parts.device))
    return Name(case, parts.label, int(seq) if seq.isdecimal() else None, where)


def _value(text: str) -> str:
    return format_count(int(text)) if text.isdecimal() else text


def by_family(names: Sequence[Name]) -> dict[str, list[Name]]:
    """Names by family, in order of first appearance; the lengths of an implementation follow each other."""
    families = grouped(names, lambda name: name.family)
    for members in families.values():
        labels = list(dict.fromkeys(name.label for name in members))
        places = list(dict.fromkeys(name.where for name in members))
        members.sort(key=lambda name: (labels.index(name.label), places.index(name.where), name.seq or 0))
    return families


def heading(names: Sequence[Name]) -> str:
    """`mask: batch=1 dtype=f32 topk=2Ki mode=fwd device=cpu`: the family and what its cases share."""
    shared = (f"{field}={value}" for field, value in names[0].where if not _varies(field, value, names))
    return f"{names[0].family}: {' '.join(shared)}".removesuffix(": ")


def distinction(name: Name, names: Sequence[Name]) -> str:
    """`topk=64 mode=bwd`: what distinguishes this case from others of its family."""
    return " ".join(f"{field}={value}" for field, value in name.where if _varies(field, value, names))


def _varies(field: str, value: str, names: Sequence[Name]) -> bool:
    return any(dict(other.where).get(field) != value for other in names)


ABSENT = "–"

_EQUAL_SIDES = (
    "both sides are the same code, so regressed or improved means that the gate cannot be trusted on this "
    "machine"
)


def in_words(verdict: str) -> str:
    return verdict.replace("_", " ")


def percent(effect: float) -> str:
    """A log ratio in per cent: 0.0497 is `+5.1 %`."""
    share = 100 * math.expm1(effect)
    text = f"{share:+.{0 if abs(share) >= 99.95 else 1}f}"
    if not float(text):
        text = text[1:]
    return f"{text.replace('-', '−')} %"


def share(value: float) -> str:
    """`5 %`, `2.5 %`."""
    return f"{100 * value:g} %"


def change(case: CaseVerdict) -> str:
    """`+5.1 %`; `945× slower` from a factor of two."""
    if case.effect is None:
        return ABSENT
    if abs(case.effect) < GROSS:
        return percent(case.effect)
    return f"{format_ratio(math.exp(abs(case.effect)))} {'slower' if case.effect > 0 else 'faster'}"


def interval(case: CaseVerdict) -> str:
    if case.low is None or case.high is None:
        return ABSENT
    return f"[{percent(case.low)}, {percent(case.high)}]"


def measured(case: CaseVerdict) -> str:
    """`+5.1 % [+3.2 %, +7.0 %]`; empty if nothing was timed."""
    return "" if case.effect is None else f"{change(case)} {interval(case)}"


def reason_and_notes(case: CaseVerdict) -> str:
    """The reason and the notes, one per line."""
    return "\n".join([case.reason, *case.notes])


def comparison(outcome: GateOutcome) -> str:
    """Description of the two sides."""
    if outcome.self_check:
        return "self-check: the working tree against itself"
    what = "static figures of the working tree" if outcome.kind == STATIC else "working tree"
    return f"{what} against {outcome.base}"


def delta_lines(outcome: GateOutcome) -> list[str]:
    """Meaning of each Δ; one line if all suites share it."""
    if outcome.self_check:
        return [_EQUAL_SIDES]
    if outcome.kind == STATIC:
        return ["the compiler's figures are exact: regressed means that a figure grew"]
    suites = grouped(outcome.slowdown, outcome.slowdown.__getitem__)
    return [
        f"{', '.join(names) + ': ' if len(suites) > 1 else ''}designed to catch a slowdown of "
        f"{share(slowdown)}; regressed means more than {share(slowdown / 2)} slower, confirmed on fresh pairs"
        for slowdown, names in suites.items()
    ]


def counts(cases: Sequence[CaseVerdict]) -> str:
    """`1 regressed, 9 unchanged`, the worst verdict first."""
    tally = Counter(case.verdict for case in cases)
    return ", ".join(f"{tally[verdict]} {in_words(verdict)}" for verdict in WEIGHT if tally[verdict])


def conclusion(outcome: GateOutcome) -> str:
    """The verdict in one sentence: `regressed: 1 regressed, 9 unchanged (exit code 1)`."""
    if outcome.broken:
        return outcome.broken
    code = f"exit code {outcome.exit_code}"
    if not outcome.cases:
        return f"not enough evidence: no case was compared ({code})"
    tally = counts(outcome.cases)
    if outcome.self_check:
        differ = any(case.verdict in {REGRESSED, IMPROVED} for case in outcome.cases)
        end = "failed" if differ else "undecided" if outcome.exit_code else "passed"
        return f"self-check {end}: {tally} ({code})"
    if all(case.verdict == NEW for case in outcome.cases):
        return f"nothing was compared: {tally} ({code})"
    if outcome.verdict == NOT_ENOUGH and outcome.inconclusive == WARN:
        code += " because of --inconclusive warn"
    return f"{in_words(outcome.verdict)}: {tally} ({code})"


def next_steps(outcome: GateOutcome) -> list[str]:
    """Commands to run next: a line for each verdict that needs action, the worst first."""
    steps: list[str] = []
    for verdict in WEIGHT:
        if cases := [case for case in outcome.cases if case.verdict == verdict]:
            step = PRESENTATIONS[verdict].next
            if outcome.self_check and verdict in {REGRESSED, IMPROVED}:
                step = NOT_TRUSTED
            elif outcome.kind == STATIC and verdict == REGRESSED:
                step = ACCEPTABLE
            labels = dict.fromkeys(name_of(case.case).label for case in cases)
            worst = max(cases, key=lambda case: case.effect or 0.0)
            steps.append(step.format(labels=shlex.join(labels), worst=shlex.quote(worst.case)))
    return [step for step in steps if step]


def left_out_lines(outcome: GateOutcome) -> list[str]:
    """Lines on cases that were left out, one per reason."""
    lines: list[str] = []
    for reason, cases in grouped(outcome.left_out, outcome.left_out.__getitem__).items():
        which = "; ".join(first_few([name_of(case).short for case in cases], 4))
        lines.append(f"left out: {len(cases)} case{'s' if len(cases) > 1 else ''} ({which}): {reason}")
    return lines


def same_code_line(outcome: GateOutcome) -> str:
    """Line on the cases that were not measured because of the same code; empty if there are none."""
    count = sum(case.same_code for case in outcome.cases)
    line = f"not measured, because both sides have the same code: {count} (--all measures them)"
    return line if count else ""


LEVELS = ("error", "warning", "notice")
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
NOT_TRUSTED = "self-check failed: run seqsweep doctor to find what disturbs this machine"
ACCEPTABLE = "regressed: if intended, accept it in bench.yaml with a reason (accept:)"


class Presentation(NamedTuple):
    """Presentation of a verdict, and the command to run next.

    `level` is None for a verdict that needs no attention; `result` is None for a test that passed.
    """

    style: str
    level: str | None
    result: str | None
    next: str = ""


PRESENTATIONS = {
    INCORRECT: Presentation("bold red", "error", ERROR, "incorrect: run seqsweep check {labels}"),
    INVALID: Presentation(
        *("bold red", "error", ERROR), "invalid: fix what the reasons name, then run this gate again"
    ),
    REGRESSED: Presentation(
        *("bold red", "error", FAILURE), "regressed: run seqsweep gate --last --explain {worst}"
    ),
    VANISHED: Presentation(
        *("yellow", "error", FAILURE),
        "vanished: restore it or, if its removal is intended, exclude it with --cases",
    ),
    NOT_ENOUGH: Presentation(  # skipped with --inconclusive warn
        *("yellow", "warning", FAILURE),
        "not enough evidence: allow more pairs (--max-pairs 24 --budget 600s) or fewer cases (--cases GLOB)",
    ),
    IMPROVED: Presentation("green", "notice", None),
    NEW: Presentation("cyan", None, SKIPPED),
    UNCHANGED: Presentation("green", None, None),
}
