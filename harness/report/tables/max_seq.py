"""The largest length that fits: a target's by compiling ever closer lengths, a device's by running them."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.grouped import grouped
from harness.core.units import format_bytes, format_count
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell, name_cell, sentences
from harness.report.tables.table_data import Column, TableData

# Of the largest length that ran, by who counted.
PEAK = {
    "allocator": "the most that the device's allocator had given out, inputs among it",
    "resident": "the rise of the process's resident memory over what it had before its inputs",
}
OUTSIDE = {
    "allocator": "device total − free − the allocator's: context, libraries, communication, other programs",
    "resident": "resident before the inputs: interpreter, framework, its threads",
}
_NAMES = (Column("", right=False, folds=True), Column("workload", right=False, folds=True))


Entries = Sequence[Mapping[str, Any]]


def largest_table(suite: str, entries: Entries, bounds: Mapping[str, str]) -> TableData:
    """`entries` as in run.json; rows are implementations (and panels, if many), columns targets.

    `bounds` are those that authors give, by implementation. Without rows where none was looked for.
    """
    found = [entry for entry in entries if entry["suite"] == suite and "trials" not in entry]
    targets = list(dict.fromkeys(entry["target"] for entry in found))
    by_case = grouped(found, lambda entry: (entry["panel"], entry["implementation"]))
    names = _name_columns(found)
    rows: list[tuple[Cell, ...]] = []
    for own in by_case.values():
        at = {entry["target"]: entry for entry in own}
        rows.append((*_name_cells(own[0], bounds)[: len(names)], *(length_cell(at.get(t)) for t in targets)))
    return TableData(
        title=f"{suite}: largest length that fits",
        columns=(*names, *(Column(t, rank=i, right=False) for i, t in enumerate(targets))),
        rows=tuple(rows),
    )


def measured_table(suite: str, entries: Entries, bounds: Mapping[str, str]) -> TableData:
    """Those `entries` of run.json that were tried on a device: rows are implementations at each panel."""
    found = [entry for entry in entries if entry["suite"] == suite and "trials" in entry]
    names = _name_columns(found)
    rows: list[tuple[Cell, ...]] = []
    for entry in found:
        largest = next((each for each in entry["trials"] if each["seq"] == entry["seq"]), None) or {}
        rows.append(
            (
                *_name_cells(entry, bounds)[: len(names)],
                length_cell(entry),
                _memory_cell(largest.get("peak_bytes"), PEAK.get(largest.get("by", ""))),
                _memory_cell(largest.get("outside_bytes"), OUTSIDE.get(largest.get("by", ""))),
                Cell(format_count(len(entry["trials"]))),
            )
        )
    figures = (Column(title, rank=rank) for rank, title in enumerate(("peak", "outside", "tries"), start=1))
    return TableData(
        title=f"{suite}: largest length that ran on {', '.join({entry['target']: 0 for entry in found})}",
        columns=(*names, Column("length", right=False), *figures),
        rows=tuple(rows),
    )


def _name_columns(entries: Entries) -> Sequence[Column]:
    """A single panel has no column: it stands in the title of the suite's own table."""
    return _NAMES if len({entry["panel"] for entry in entries}) > 1 else _NAMES[:1]


def _name_cells(entry: Mapping[str, Any], bounds: Mapping[str, str]) -> tuple[Cell, Cell]:
    return name_cell(entry["implementation"], bounds), Cell(entry["panel"])


def _memory_cell(size: int | None, meaning: str | None) -> Cell:
    return Cell(ABSENT) if size is None else Cell(format_bytes(size), sentences(meaning))


def length_cell(entry: Mapping[str, Any] | None) -> Cell:
    """`26Ki, not 28Ki`; `≥ 1Mi` where every length tried fits, `< 1Ki` where none does."""
    if entry is None:
        return Cell("")
    fits, beyond, why = entry["seq"], entry["beyond"], sentences(entry["reason"])
    if fits is None and beyond is None:
        return Cell(ABSENT, why)
    if fits is None:
        return Cell(f"< {format_count(beyond)}", why)
    if beyond is None:
        return Cell(f"≥ {format_count(fits)}", why)
    return Cell(f"{format_count(fits)}, not {format_count(beyond)}", why)
