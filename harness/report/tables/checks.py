"""Tables of check results: per family a row per check, with the objection that it answers."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.results import label_of
from harness.core.grouped import grouped
from harness.core.record import Checked, Record
from harness.core.units import format_count
from harness.report.format import figures, first_few, short_label
from harness.report.tables.listing import plain_table


def print_checks(console: Console, records: Sequence[Record]) -> None:
    """Print a table per family; nothing if no check ran."""
    ran = [(record, checked) for record in records for checked in record.checks]
    for family, of_family in grouped(ran, lambda pair: pair[0].family).items():
        console.print(Text(f"checks of {family}", style="bold"))
        table = plain_table("check", "passed", "objection it answers", "")
        for name, cases in grouped(of_family, lambda pair: pair[1].check).items():
            table.add_row(name.split("/", 1)[1], *_cells(cases))
        console.print(table)
        console.print()


def _cells(cases: Sequence[tuple[Record, Checked]]) -> tuple[Text, Text, Text]:
    """The number of cases that pass a check, the objection that it answers, and the first that fail."""
    by_outcome = grouped(cases, lambda case: _outcome(case[1]))
    failed, expected, sizes = (by_outcome.get(name, []) for name in ("failed", "expected", "property"))
    decided = len(cases) - len(sizes)
    passed = Text(f"{len(by_outcome.get('passed', []))} of {decided}" if decided else "property")
    if expected:
        passed.append(f", {len(expected)} failed as expected")
    passed.stylize("red" if failed else "green" if decided else "")
    sentences = [_sentence(record, checked) for record, checked in failed or expected or sizes]
    return passed, Text(cases[0][1].objection), Text("; ".join(first_few(sentences, most=2)))


def _sentence(record: Record, checked: Checked) -> str:
    where = f"{short_label(label_of(record))} at {format_count(record.seq)}"
    return f"{where}: {checked.reason or figures(checked.figures)}"


def _outcome(checked: Checked) -> str:
    if checked.passed is None:
        return "property"
    if checked.unexpected:
        return "failed"
    return "expected" if checked.expected else "passed"
