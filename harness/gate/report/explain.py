"""Explanation of one verdict (`--explain`): its statistics and its pairs."""

from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from harness.analysis.stats import PROCESSES
from harness.core.units import format_seconds
from harness.gate.outcome import CaseVerdict
from harness.gate.report import wording
from harness.gate.report.wording import PRESENTATIONS
from harness.gate.timed.decision import CaseEvidence, Decision, judge
from harness.report.tables.cells import Cell
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

_PAIRS = (
    Column("pair"),
    Column("kind", right=False),
    Column("effect"),
    Column("rounds", rank=2),
    Column("candidate", rank=1),
    Column("base", rank=1),
)


def print_explanation(console: Console, case: CaseVerdict, evidence: CaseEvidence) -> None:
    """The claim first, then its evidence: the pairs, and the compiler's figures."""
    title = Text(case.case, style="bold").append(": ", style="not bold")
    console.print(
        title.append(wording.in_words(case.verdict), style=PRESENTATIONS[case.verdict].style), soft_wrap=True
    )
    console.print(Text(case.reason))
    for line in claim(evidence):
        console.print(Text(line))
    console.print()
    print_tables(console, pairs_table(evidence))
    if evidence.same_program is not None:
        programs = "the same program" if evidence.same_program else "different programs"
        console.print(Text(f"the compiler made {programs} of the two sides"))
    for line in (*evidence.static, *(f"! {note}" for note in case.notes)):
        console.print(Text(line, style="dim"))


def claim(evidence: CaseEvidence) -> list[str]:
    """The claim in sentences: the mean, its bounds, and the thresholds that they are compared with."""
    if not evidence.first:
        return ["nothing was timed, so there is no effect to explain"]
    margin = evidence.margin
    lines = [_bounds("first pairs", judge(evidence.first, margin))]
    if evidence.fresh:
        lines.append(_bounds("confirmation, fresh pairs", judge(evidence.fresh, margin)))
    slower, faster, excluded = map(wording.percent, (margin.least, -margin.least, margin.excluded))
    thresholds = (
        f"regressed needs a lower bound above {slower}, improved an upper one below {faster}, "
        f"unchanged one below {excluded}"
    )
    return [*lines, thresholds]


def _bounds(label: str, decision: Decision) -> str:
    count = f"{decision.pairs} pair{'s' if decision.pairs != 1 else ''}"
    mean = "" if decision.effect is None else f"mean {wording.percent(decision.effect)}"
    if decision.low is None or decision.high is None:
        return f"{label}: {mean} over {count}; bounds need at least {PROCESSES} pairs"
    low, high = wording.percent(decision.low), wording.percent(decision.high)
    return f"{label}: {mean} over {count}; at least {low}, at most {high} (99 % each)"


def pairs_table(evidence: CaseEvidence) -> TableData:
    """A row per pair: the first ones, then the fresh ones of the confirmation."""
    kinds = ["first"] * len(evidence.first) + ["fresh"] * len(evidence.fresh)
    effects = [*evidence.first, *evidence.fresh]
    known = zip_longest(kinds, effects, evidence.rounds[: len(kinds)], evidence.levels_s[: len(kinds)])
    rows: list[tuple[Cell, ...]] = []
    for number, (kind, effect, rounds, levels_s) in enumerate(known, 1):
        levels = [format_seconds(level) for level in levels_s] if levels_s else [wording.ABSENT] * 2
        count = str(len(rounds)) if rounds else wording.ABSENT
        rows.append(tuple(map(Cell, (str(number), kind, wording.percent(effect), count, *levels))))
    return TableData("pairs of processes", _PAIRS, tuple(rows))
