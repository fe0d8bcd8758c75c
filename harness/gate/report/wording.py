"""The sentences of a gate, and how each verdict is shown: on a terminal, in a job summary and in JUnit."""

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from harness.core.grouped import grouped
from harness.core.units import format_ratio
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
from harness.gate.report.case_names import name_of
from harness.gate.timed.decision import GROSS
from harness.report.format import is_vague, vague_ratio

ABSENT = "–"

_EQUAL_SIDES = (
    "both sides are the same code, so regressed or improved means that this machine or the gate cannot be "
    "trusted"
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
    """`+5.1 %`; from a factor of two on `945× slower`, or `≈900× slower` where the interval is wide."""
    if case.effect is None:
        return ABSENT
    if abs(case.effect) < GROSS:
        return percent(case.effect)
    times = math.exp(abs(case.effect))
    text = format_ratio(times)
    if case.low is not None and case.high is not None and is_vague(math.exp(case.low), math.exp(case.high)):
        text = vague_ratio(times)
    return f"{text} {'slower' if case.effect > 0 else 'faster'}"


def interval(case: CaseVerdict) -> str:
    if case.low is None or case.high is None:
        return ABSENT
    return f"[{percent(case.low)}, {percent(case.high)}]"


def measured(case: CaseVerdict) -> str:
    """`+5.1 % [+3.2 %, +7.0 %]`; empty where nothing was timed."""
    return "" if case.effect is None else f"{change(case)} {interval(case)}"


def reason_and_notes(case: CaseVerdict) -> str:
    """The reason and the notes, a line each."""
    return "\n".join([case.reason, *case.notes])


def comparison(outcome: GateOutcome) -> str:
    """The two sides: what was compared with what."""
    if outcome.self_check:
        return "self-check: the working tree against itself"
    what = "static figures of the working tree" if outcome.kind == STATIC else "working tree"
    return f"{what} against {outcome.base}"


def promises(outcome: GateOutcome) -> list[str]:
    """What each Δ means; one line where all suites share it."""
    if outcome.self_check:
        return [_EQUAL_SIDES]
    if outcome.kind == STATIC:
        return ["the compiler's figures are exact: regressed means that one of them grew"]
    suites = grouped(outcome.slowdown, outcome.slowdown.__getitem__)
    return [
        f"{', '.join(names) + ': ' if len(suites) > 1 else ''}a slowdown of {share(slowdown)} is promised "
        f"to be caught; regressed means more than {share(slowdown / 2)} slower, confirmed on fresh pairs"
        for slowdown, names in suites.items()
    ]


def counts(cases: Sequence[CaseVerdict]) -> str:
    """`1 regressed, 9 unchanged`, the gravest verdict first."""
    tally = Counter(case.verdict for case in cases)
    return ", ".join(f"{tally[verdict]} {in_words(verdict)}" for verdict in WEIGHT if tally[verdict])


def conclusion(outcome: GateOutcome) -> str:
    """The verdict in one sentence: `regressed: 1 regressed, 9 unchanged (exit code 1)`."""
    if outcome.broken:
        return outcome.broken
    code = f"exit code {outcome.exit_code}"
    if not outcome.cases:
        return f"no case was compared, so nothing is said ({code})"
    tally = counts(outcome.cases)
    if outcome.self_check:
        return f"{_trust(outcome)}: {tally} ({code})"
    if all(case.verdict == NEW for case in outcome.cases):
        return f"nothing was compared: {tally} ({code})"
    if outcome.verdict == NOT_ENOUGH and outcome.inconclusive == WARN:
        code += ", since --inconclusive warn"
    return f"{in_words(outcome.verdict)}: {tally} ({code})"


def _trust(outcome: GateOutcome) -> str:
    if any(case.verdict in {REGRESSED, IMPROVED} for case in outcome.cases):
        return "self-check failed, a difference between equal sides"
    if outcome.exit_code:
        return "self-check left open"
    return "self-check passed, no difference between equal sides"


_NEXT = {
    INVALID: "invalid: the reasons say what to mend; then the same gate again",
    VANISHED: "vanished: bring it back, or name the cases that stay with --cases if it is meant to go",
    NOT_ENOUGH: (
        "not enough evidence: more pairs (--max-pairs 24, --budget 600s), or fewer cases (--cases GLOB)"
    ),
}
_NEXT_STATIC = {
    INVALID: _NEXT[INVALID],
    VANISHED: _NEXT[VANISHED],
    REGRESSED: "regressed: if it is meant, accept it in bench.yaml with a reason (accept:)",
}


def next_steps(outcome: GateOutcome) -> list[str]:
    """What to type next: a line for each kind of verdict that needs action, the gravest first."""
    by_verdict = {verdict: [c for c in outcome.cases if c.verdict == verdict] for verdict in WEIGHT}
    steps = (_next(outcome, verdict, cases) for verdict, cases in by_verdict.items() if cases)
    return [step for step in steps if step]


def _next(outcome: GateOutcome, verdict: str, cases: Sequence[CaseVerdict]) -> str:
    if outcome.self_check and verdict in {REGRESSED, IMPROVED}:
        return "not to be trusted: seqsweep doctor  says what disturbs this machine"
    if verdict == INCORRECT:
        labels = dict.fromkeys(name_of(case.case).label for case in cases)
        return f"incorrect: seqsweep check {shlex.join(labels)}"
    if verdict == REGRESSED and outcome.kind != STATIC:
        worst = max(cases, key=lambda case: case.effect or 0.0)
        return f"regressed: seqsweep gate --last --explain {shlex.quote(worst.case)}"
    return (_NEXT_STATIC if outcome.kind == STATIC else _NEXT).get(verdict, "")


def left_out_lines(outcome: GateOutcome) -> list[str]:
    """A line per reason: how many cases, which, and why."""
    reasons = grouped(outcome.left_out, outcome.left_out.__getitem__)
    return [
        f"left out, {len(cases)} case{'s' if len(cases) > 1 else ''} ({_by_label(cases)}): {reason}"
        for reason, cases in reasons.items()
    ]


def same_code_line(outcome: GateOutcome) -> str:
    """The cases that needed no measuring, in a line; empty where there are none."""
    cases = [case.case for case in outcome.cases if case.same_code]
    if not cases:
        return ""
    families = Counter(name_of(case).family for case in cases)
    which = ", ".join(f"{family} {count}" for family, count in families.items())
    return f"same code on both sides, so unchanged and not measured: {which} (--all measures them)"


def _by_label(cases: Sequence[str]) -> str:
    """`mask/scatter at 64Ki, 128Ki; topk/exact at 64Ki`."""
    shown: list[str] = []
    for label, names in grouped(map(name_of, cases), lambda name: name.label).items():
        lengths = dict.fromkeys(name.length for name in names if name.seq is not None)
        shown.append(f"{label} at {', '.join(lengths)}" if lengths else label)
    return "; ".join(shown)


LEVELS = ("error", "warning", "notice")
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"


class Presentation(NamedTuple):
    """`level` is None for a verdict that needs no attention, `result` for a test that passed."""

    style: str
    level: str | None
    result: str | None


PRESENTATIONS = {
    INCORRECT: Presentation("bold red", "error", ERROR),
    INVALID: Presentation("bold red", "error", ERROR),
    REGRESSED: Presentation("bold red", "error", FAILURE),
    VANISHED: Presentation("yellow", "error", FAILURE),
    NOT_ENOUGH: Presentation("yellow", "warning", FAILURE),  # with --inconclusive warn skipped
    IMPROVED: Presentation("green", "notice", None),
    NEW: Presentation("cyan", None, SKIPPED),
    UNCHANGED: Presentation("green", None, None),
}
