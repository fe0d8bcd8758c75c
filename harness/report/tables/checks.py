"""Outcome of the checks: per family a row per check, with the objection that it answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from harness.analysis.results import label_of
from harness.core.record import Checked, Record
from harness.core.units import format_count
from harness.report.format import figures, short_label
from harness.report.tables.listing import plain_table


@dataclass
class CheckRow:
    """A check over all cases that it ran on. The lists hold sentences about single cases."""

    objection: str
    held: int = 0
    cases: int = 0
    failed: list[str] = field(default_factory=list[str])
    expected: list[str] = field(default_factory=list[str])  # declared failures
    sizes: list[str] = field(default_factory=list[str])


def rows(records: Sequence[Record]) -> dict[str, dict[str, CheckRow]]:
    """Family → check → its row, both in the order of the records."""
    families: dict[str, dict[str, CheckRow]] = {}
    for record in records:
        for checked in record.checks:
            row = families.setdefault(record.family, {}).setdefault(
                checked.check, CheckRow(checked.objection)
            )
            row.cases += 1
            where = f"{short_label(label_of(record))} at {format_count(record.seq)}"
            if checked.passed is None:
                row.sizes.append(f"{where}: {_size(checked)}")
            elif checked.unexpected:
                row.failed.append(f"{where}: {checked.reason or _size(checked)}")
            elif checked.expected:
                row.expected.append(f"{where}: {checked.reason}")
            else:
                row.held += 1
    return families


def print_checks(console: Console, records: Sequence[Record]) -> None:
    """Print a table per family; nothing where no check ran."""
    for family, checks in rows(records).items():
        console.print(Text(f"checks of {family}", style="bold"))
        table = plain_table("check", "holds", "answers", "")
        for name, row in checks.items():
            decided = row.cases - len(row.sizes)
            holds = Text(f"{row.held} of {decided}" if decided else "property")
            if row.expected:
                holds.append(f", {len(row.expected)} expected to fail")
            holds.stylize("red" if row.failed else "green" if decided else "")
            cases = "; ".join(_few(row.failed or row.expected or row.sizes))
            table.add_row(name.split("/", 1)[1], holds, Text(row.objection), Text(cases))
        console.print(table)
        console.print()


def _few(sentences: Sequence[str], most: int = 2) -> list[str]:
    more = len(sentences) - most
    return [*sentences[:most], *([f"and {more} more; --json has them"] if more > 0 else [])]


def _size(checked: Checked) -> str:
    return checked.reason or figures(checked.figures)
