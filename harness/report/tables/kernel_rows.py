"""The frame of a table of kernels: those of each case on a target, under the case's length and name."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from harness.analysis.results import static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.record import Record
from harness.core.static_figures import AnyKernel
from harness.core.units import format_count
from harness.report.format import short_label
from harness.report.tables.cells import Cell
from harness.report.tables.suite import heading
from harness.report.tables.table_data import Column, TableData

CASE = (Column("seq"), Column("implementation", right=False))
Kernel = TypeVar("Kernel", bound=AnyKernel)


def kernels_of(panel: SuiteResults, target: str, kind: type[Kernel]) -> Iterator[tuple[Record, list[Kernel]]]:
    """The kernels of this kind of each case that has any."""
    for records in panel.by_case.values():
        figures = static_of(records, target)
        kernels = [kernel for kernel in (figures.all_kernels if figures else ()) if isinstance(kernel, kind)]
        if kernels:
            yield records[0], kernels


def kernel_rows(
    panel: SuiteResults,
    target: str,
    kind: type[Kernel],
    columns: Sequence[Column],
    cells: Callable[[Kernel], Sequence[Cell | str]],
) -> TableData:
    """A row per kernel of this kind; no row where none was read."""
    sections = [
        ((format_count(record.seq), short_label(record.as_case.label)), map(cells, kernels))
        for record, kernels in kernels_of(panel, target, kind)
    ]
    return TableData.of_sections(f"{heading(panel)}: kernels on {target}", (*CASE, *columns), sections)


def owner(record: Record) -> str:
    """` of triton_flash at 64Ki`: whose kernel it is."""
    return f" of {short_label(record.as_case.label)} at {format_count(record.seq)}"
