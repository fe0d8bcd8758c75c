"""Terminal output of a gate: what was compared, a row per case, then the verdict."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.stats import PROCESSES
from harness.core.units import format_seconds
from harness.gate.outcome import NOT_ENOUGH, STATIC, UNCHANGED, CaseVerdict, GateOutcome
from harness.gate.report import wording
from harness.gate.report.wording import PRESENTATIONS, Name, by_family, distinction, heading, name_of
from harness.gate.timed.decision import CaseEvidence, Decision, judge
from harness.report.tables.cells import Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

_NAME_COLUMNS = (
    Column("implementation", right=False, folds=True),
    Column("at", rank=2, right=False, folds=True),
    Column("seq", rank=1),
    Column("verdict", right=False),
)
_TIME_COLUMNS = (Column("change", rank=1), Column("98 %", rank=3, right=False), Column("pairs", rank=4))
BOUNDS = "98 %: interval between two one-sided 99 % bounds, over pairs of processes."
_REASON_COLUMN = (Column("reason", rank=1, right=False, folds=True),)
_RATIOS = {"ratio": "effect", "ratio_low": "low", "ratio_high": "high"}


def print_gate(console: Console, outcome: GateOutcome) -> None:
    """Print the whole outcome, or only the error of a side that does not load."""
    if outcome.broken:
        console.print(Text(wording.conclusion(outcome), style="bold red"), soft_wrap=True)
        return
    console.print(Text(wording.comparison(outcome), style="bold"))
    for line in wording.delta_lines(outcome):
        console.print(Text(line, style="dim"))
    console.print()
    print_tables(console, *gate_tables(outcome))
    for line in filter(None, [wording.same_code_line(outcome), *wording.left_out_lines(outcome)]):
        console.print(Text(line, style="dim"))
    for note in outcome.notes:
        console.print(Text(f"! {note}", style="yellow"))
    style = PRESENTATIONS[outcome.verdict if outcome.cases else NOT_ENOUGH].style
    console.print(Text(wording.conclusion(outcome), style=style), soft_wrap=True)
    for step in wording.next_steps(outcome):
        console.print(Text(step, style="dim"), soft_wrap=True)


def print_static_changes(console: Console, outcome: GateOutcome) -> None:
    """Print what changed since the base of `static --against`: the verdict, then the tables."""
    console.print(Text(f"{wording.conclusion(outcome)}: {wording.comparison(outcome)}"), soft_wrap=True)
    console.print()
    print_tables(console, *gate_tables(outcome))
    for line in wording.left_out_lines(outcome):
        console.print(Text(line, style="dim"))


def gate_tables(outcome: GateOutcome) -> list[TableData]:
    """Tables of the measured cases, one per family."""
    verdicts = {case.case: case for case in outcome.cases if not case.same_code}
    families = by_family([name_of(case) for case in verdicts])
    static = outcome.kind == STATIC
    columns = (*_NAME_COLUMNS, *(_REASON_COLUMN if static else _TIME_COLUMNS))
    has_bounds = any(case.low is not None for case in outcome.cases)
    return [
        TableData(
            heading(names),
            columns,
            tuple(_row(name, names, verdicts, static=static) for name in names),
            caption=BOUNDS if has_bounds and not position else "",
        )
        for position, names in enumerate(families.values())
    ]


def _row(
    name: Name, family: Sequence[Name], verdicts: Mapping[str, CaseVerdict], *, static: bool
) -> tuple[Cell, ...]:
    """Cells of a case. Static gates have a column for reasons; timed gates show them as footnotes."""
    case = verdicts[name.case]
    name_cells = (Cell(name.implementation), Cell(distinction(name, family)), Cell(name.length))
    reason = None if case.verdict == UNCHANGED else case.reason
    text, style = wording.in_words(case.verdict), PRESENTATIONS[case.verdict].style
    if static:
        return (*name_cells, Cell(text, case.notes, style), Cell(reason or ""))
    verdict = Cell(text, sentences(reason, *case.notes), style)
    pairs = Cell(str(case.pairs) if case.pairs else wording.ABSENT)
    return (*name_cells, verdict, Cell(wording.change(case)), Cell(wording.interval(case)), pairs)


def gate_data(outcome: GateOutcome) -> dict[str, Any]:
    """The outcome for --json: as stored, with a ratio for each logarithm."""
    data = outcome.to_json()
    cases = [{**case, **{name: _ratio(case[of]) for name, of in _RATIOS.items()}} for case in data["cases"]]
    return {**data, "cases": cases}


def _ratio(effect: float | None) -> float | None:
    return None if effect is None else math.exp(effect)


_PAIRS = (
    Column("pair"),
    Column("kind", right=False),
    Column("effect"),
    Column("candidate", rank=1),
    Column("base", rank=1),
)


def print_explanation(console: Console, case: CaseVerdict, evidence: CaseEvidence) -> None:
    """Print the verdict, the statistics behind it, and the pairs."""
    title = Text(case.case, style="bold").append(": ", style="not bold")
    console.print(
        title.append(wording.in_words(case.verdict), style=PRESENTATIONS[case.verdict].style), soft_wrap=True
    )
    console.print(Text(case.reason))
    for line in statistics_lines(evidence):
        console.print(Text(line))
    console.print()
    print_tables(console, pairs_table(evidence))
    for note in case.notes:
        console.print(Text(f"! {note}", style="dim"))


def statistics_lines(evidence: CaseEvidence) -> list[str]:
    """Lines with the mean, its bounds, and the thresholds that they are compared with."""
    if not evidence.first:
        return ["this case was not timed"]
    margin = evidence.margin
    slower, faster, excluded = map(wording.percent, (margin.least, -margin.least, margin.excluded))
    thresholds = (
        f"regressed if the lower bound is above {slower}, improved if the upper bound is below {faster}, "
        f"unchanged if the upper bound is below {excluded}"
    )
    kinds = (("first pairs", evidence.first), ("fresh pairs, to confirm", evidence.fresh))
    return [*(f"{kind}: {_bounds(judge(effects, margin))}" for kind, effects in kinds if effects), thresholds]


def _bounds(decision: Decision) -> str:
    mean = "" if decision.effect is None else f"mean {wording.percent(decision.effect)}"
    if decision.low is None or decision.high is None:
        return f"{mean} over {decision.pairs} pairs; bounds need at least {PROCESSES}"
    low, high = wording.percent(decision.low), wording.percent(decision.high)
    return f"{mean} over {decision.pairs} pairs; at least {low}, at most {high} (99 % each)"


def pairs_table(evidence: CaseEvidence) -> TableData:
    """Table of the pairs: the first pairs, then the fresh pairs of the confirmation."""
    kinds = ["first"] * len(evidence.first) + ["fresh"] * len(evidence.fresh)
    # One more pair may have been timed after an advisory case had its verdict
    pairs = zip(kinds, (*evidence.first, *evidence.fresh), evidence.levels_s, strict=False)
    rows = (
        (str(number), kind, wording.percent(effect), *map(format_seconds, levels_s))
        for number, (kind, effect, levels_s) in enumerate(pairs, 1)
    )
    return TableData("pairs of processes", _PAIRS, tuple(tuple(map(Cell, row)) for row in rows))
