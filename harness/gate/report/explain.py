"""Explanation of one verdict (`--explain`): its statistics, its pairs, and what would settle an open case."""

import statistics
from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from harness.analysis.stats import PROCESSES, t_half_width
from harness.core.units import format_seconds
from harness.gate.outcome import IMPROVED, NOT_ENOUGH, REGRESSED, UNCHANGED, CaseVerdict
from harness.gate.report import wording
from harness.gate.report.wording import PRESENTATIONS
from harness.gate.timed.decision import CaseEvidence, Decision, Margin, judge, pairs_needed
from harness.report.tables.cells import Cell
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

_PAIRS = (
    Column("pair"),
    Column("kind", right=False),
    Column("effect"),
    Column("rounds", rank=2),
    Column("sd of rounds", rank=3),
    Column("candidate", rank=1),
    Column("base", rank=1),
)
MOST_PAIRS = 1000  # a verdict that needs more is called out of reach


def print_explanation(console: Console, case: CaseVerdict, evidence: CaseEvidence) -> None:
    """The claim first, then its evidence: the pairs, and the compiler's figures."""
    title = Text(case.case, style="bold").append(": ", style="not bold")
    console.print(
        title.append(wording.in_words(case.verdict), style=PRESENTATIONS[case.verdict].style), soft_wrap=True
    )
    console.print(Text(case.reason))
    for line in claim(case, evidence):
        console.print(Text(line))
    console.print()
    print_tables(console, pairs_table(evidence))
    for line in (*required_pairs(case, evidence), *_programs(case, evidence)):
        console.print(Text(line))
    for line in (*evidence.static, *(f"! {note}" for note in case.notes)):
        console.print(Text(line, style="dim"))


def claim(case: CaseVerdict, evidence: CaseEvidence) -> list[str]:
    """The claim in sentences: the mean, its bounds, and the thresholds they are compared with."""
    if not evidence.first:
        return ["nothing was timed, so there is no effect to explain"]
    margin = evidence.margin
    lines = [_bounds("first pairs", judge(evidence.first, margin))]
    if evidence.fresh:
        lines.append(_bounds("confirmation, fresh pairs", judge(evidence.fresh, margin)))
    limit, delta = wording.percent(margin.least), wording.percent(margin.excluded)
    meanings = {
        REGRESSED: f"regressed: the lower bound lies above {limit}, half of what is promised to be caught",
        IMPROVED: f"improved: the upper bound lies below {wording.percent(-margin.least)}",
        UNCHANGED: f"unchanged: the upper bound lies below {delta}, so that slowdown is excluded",
        NOT_ENOUGH: f"open: neither does the lower bound lie above {limit} nor the upper one below {delta}",
    }
    by_bounds, verdict = judge(evidence.deciding, margin).verdict, case.verdict
    if verdict not in meanings:
        return lines
    meaning = meanings[by_bounds]
    if by_bounds != verdict:
        meaning = f"by these bounds alone: {meaning}; the reason above says what outweighs them"
    return [*lines, meaning]


def _bounds(label: str, decision: Decision) -> str:
    count = f"{decision.pairs} pair{'s' if decision.pairs != 1 else ''}"
    mean = "" if decision.effect is None else f"mean {wording.percent(decision.effect)}"
    if decision.low is None or decision.high is None:
        return f"{label}: {mean} over {count}; bounds need at least {PROCESSES} pairs"
    low, high = wording.percent(decision.low), wording.percent(decision.high)
    return f"{label}: {mean} over {count}; at least {low}, at most {high} (99 % each)"


def _programs(case: CaseVerdict, evidence: CaseEvidence) -> Sequence[str]:
    if evidence.same_program is None:
        return []
    if not evidence.same_program:
        return ["the compiler made different programs of the two sides"]
    same = "the compiler made the same program of both sides"
    return [f"{same}: a difference in time is the machine's" if case.effect else same]


def pairs_table(evidence: CaseEvidence) -> TableData:
    """A row per pair: the first ones, then the fresh ones of the confirmation."""
    effects = [*evidence.first, *evidence.fresh]
    pairs = zip_longest(effects, evidence.rounds[: len(effects)], evidence.levels_s[: len(effects)])
    rows = [
        _pair_row(number, "first" if number <= len(evidence.first) else "fresh", *pair)
        for number, pair in enumerate(pairs, 1)
    ]
    return TableData("pairs of processes", _PAIRS, tuple(rows))


def _pair_row(
    number: int,
    kind: str,
    effect: float,
    rounds: Sequence[float] | None,
    levels_s: tuple[float, float] | None,
) -> tuple[Cell, ...]:
    count = len(rounds or ())
    spread = f"{100 * statistics.stdev(rounds or ()):.1f} %" if count > 1 else wording.ABSENT
    levels = [format_seconds(level) for level in levels_s] if levels_s else [wording.ABSENT] * 2
    texts = (str(number), kind, wording.percent(effect), str(count or wording.ABSENT), spread, *levels)
    return tuple(map(Cell, texts))


def required_pairs(case: CaseVerdict, evidence: CaseEvidence) -> list[str]:
    """Sentences: the smallest effect these pairs can detect, and how many would settle an open case."""
    effects, margin = evidence.deciding, evidence.margin
    if len(effects) < PROCESSES:
        return []
    mean, spread, count = statistics.fmean(effects), statistics.stdev(effects), len(effects)
    reach = t_half_width(spread, count, 1 - margin.regressed)
    now = (
        f"smallest detectable now, with {count} pairs that spread by {100 * spread:.1f} %: "
        f"a mean of {wording.percent(margin.least + reach)} is called regressed"
    )
    if judge(effects, margin).verdict != NOT_ENOUGH or case.verdict != NOT_ENOUGH:
        return [now]
    answers = (("regressed", mean - margin.least), ("unchanged", margin.excluded - mean))
    needs = [
        f"{word} with {_pairs_text(spread, distance, margin)}" for word, distance in answers if distance > 0
    ]
    return [
        now,
        f"if mean and spread stay as they are: {', '.join(needs)}; --max-pairs and --budget give more",
    ]


def _pairs_text(spread: float, distance: float, margin: Margin) -> str:
    needed = pairs_needed(spread, distance, margin.regressed, MOST_PAIRS)
    return f"more than {MOST_PAIRS} pairs, out of reach" if needed is None else f"{needed} pairs"
