"""The layout of tables of kernels: a row per kernel, under its lengths and its implementation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from harness.analysis.results import static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.record import Record
from harness.core.static_figures import AnyKernel
from harness.core.units import format_count
from harness.report.format import short_label
from harness.report.tables.cells import Cell
from harness.report.tables.suite import heading
from harness.report.tables.table_data import CASE, Column, TableData

Kernel = TypeVar("Kernel", bound=AnyKernel)
Lines = list[tuple[Cell, ...]]  # one per kernel of a call


def kernels_of(panel: SuiteResults, target: str, kind: type[Kernel]) -> Iterator[tuple[Record, list[Kernel]]]:
    """The kernels of this kind of each case that has any."""
    for records in panel.by_case.values():
        figures = static_of(records, target)
        kernels = [kernel for kernel in (figures.all_kernels if figures else ()) if isinstance(kernel, kind)]
        if kernels:
            yield records[0], kernels


def longest(cases: Iterable[tuple[Record, list[Kernel]]]) -> dict[str, tuple[Record, list[Kernel]]]:
    """Implementation → its longest case, which comes last."""
    return {record.as_case.label: (record, kernels) for record, kernels in cases}


def kernel_rows(
    panel: SuiteResults,
    targets: Sequence[str],
    kind: type[Kernel],
    columns: Sequence[Column],
    cells: Callable[[Kernel], Sequence[Cell | str]],
) -> TableData:
    """A row per kernel of this kind, of the first of `targets`: the others have the same.

    Lengths whose kernels differ in nothing but the columns that are `ranged` share their rows; where none was
    read there are none.
    """
    alike: dict[tuple[object, ...], list[tuple[Record, Lines]]] = {}
    for record, kernels in kernels_of(panel, targets[0], kind):
        lines: Lines = [
            tuple(Cell(text) if isinstance(text, str) else text for text in cells(kernel))
            for kernel in kernels
        ]
        fixed = tuple(
            tuple(cell for cell, column in zip(line, columns, strict=True) if not column.ranged)
            for line in lines
        )
        alike.setdefault((record.as_case.label, fixed), []).append((record, lines))
    return TableData.of_sections(
        f"{heading(panel)}: kernels on {', '.join(targets)}",
        (*CASE, *columns),
        [
            (
                (
                    _span([format_count(record.seq) for record, _ in cases]),
                    short_label(cases[0][0].as_case.label),
                ),
                [_join_lengths(rows) for rows in zip(*(lines for _, lines in cases), strict=True)],
            )
            for cases in alike.values()
        ],
    )


def owner(record: Record) -> str:
    """` of triton_flash at 64Ki`: the case that a kernel belongs to, for behind its name."""
    return f" of {short_label(record.as_case.label)} at {format_count(record.seq)}"


def _join_lengths(rows: Sequence[tuple[Cell, ...]]) -> list[Cell]:
    """Join the rows of one kernel at several lengths: columns that differ show the first and the last."""
    return [
        column[0]._replace(text=_span([cell.text for cell in column])) for column in zip(*rows, strict=True)
    ]


def _span(texts: Sequence[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]}–{texts[-1]}"
