"""The evidence of one case as tables: its pairs of processes, and the lengths beside it."""

import statistics

from harness.report.cells import Cell
from harness.report.gate import words
from harness.report.gate.evidence import Evidence
from harness.report.gate.names import name_of
from harness.report.gate.table import STYLES
from harness.report.table import Column, TableData
from harness.spec.units import format_count, format_seconds

_PAIRS = (
    Column("pair"),
    Column("effect"),
    Column("rounds", rank=2),
    Column("sd of rounds", rank=3),
    Column("candidate", rank=1),
    Column("base", rank=1),
)
_LENGTHS = (Column("seq"), Column("change"), Column("verdict", right=False), Column("", 1, right=False))


def pairs_tables(evidence: Evidence) -> list[TableData]:
    """A row per pair: the first ones, and apart from them those of the confirmation."""
    count = len(evidence.first)
    titles = (("first pairs", evidence.first, 0), ("confirmation, fresh pairs", evidence.fresh, count))
    return [
        TableData(
            title, _PAIRS, tuple(_pair(evidence, start + i, e) for i, e in enumerate(effects)), footnotes=()
        )
        for title, effects, start in titles
    ]


def _pair(evidence: Evidence, position: int, effect: float) -> tuple[Cell, ...]:
    rounds = evidence.rounds[position] if position < len(evidence.rounds) else ()
    levels = evidence.levels_s[position] if position < len(evidence.levels_s) else None
    return (
        Cell(str(position + 1)),
        Cell(words.percent(effect)),
        Cell(str(len(rounds)) if rounds else words.ABSENT),
        Cell(f"{100 * statistics.stdev(rounds):.1f} %" if len(rounds) > 1 else words.ABSENT),
        *(Cell(format_seconds(level)) for level in levels or ()),
        *([Cell(words.ABSENT)] * 2 if levels is None else []),
    )


def lengths_table(evidence: Evidence) -> TableData:
    """The case among the other lengths of its implementation."""
    own = name_of(evidence.case).seq
    if own is None or not evidence.neighbours:
        return TableData("", _LENGTHS, (), ())
    lengths = [*evidence.neighbours, (own, evidence.verdict.verdict, evidence.verdict.effect)]
    rows = tuple(
        (
            Cell(format_count(seq)),
            Cell(words.ABSENT if effect is None else words.percent(effect)),
            Cell(words.in_words(verdict), style=STYLES[verdict]),
            Cell("this case" if seq == own else ""),
        )
        for seq, verdict, effect in sorted(lengths, key=lambda length: length[0])
    )
    return TableData("effect over length", _LENGTHS, rows, footnotes=())
