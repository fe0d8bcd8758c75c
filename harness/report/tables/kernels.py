"""The kernels of a suite on each target: registers, spills, shared memory, and the occupancy they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from harness.analysis.kernel_warnings import warning_sentences
from harness.analysis.results import static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.kernel_figures import ALL_PATHS, KernelFigures, by_need
from harness.core.record import Record
from harness.core.static_figures import AnyKernel
from harness.core.units import format_bytes, format_count
from harness.report.format import short_bytes, short_label
from harness.report.tables.cells import ABSENT, Cell, sentences
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


COLUMNS = (
    Column("kernel", right=False, rank=2, folds=True),
    Column("grid", rank=9, ranged=True),
    Column("warps", rank=6),
    Column("registers", caption="registers: a thread's; 255 at most."),
    Column("spilled", caption="spilled: local memory a thread, in its machine code."),
    Column("shared", rank=3, caption="shared: memory a block, without the 1 KiB that the system takes."),
    Column("tensor", rank=8),
    Column(
        "blocks/SM",
        caption="blocks/SM: blocks that one multiprocessor holds at once, and what allows no more.",
    ),
    Column("limit", right=False),
    Column(
        "waves",
        rank=4,
        ranged=True,
        caption="waves: how often the grid fills all multiprocessors; idle: of the last wave.",
    ),
    Column("idle", rank=7, ranged=True),
    Column(
        "matrix",
        rank=5,
        caption="matrix: matrix instructions by path (wgmma: HGMMA; mma: HMMA and its like), each loop body "
        "once; general: products without any.",
    ),
)


def kernels_table(panel: SuiteResults, *targets: str) -> TableData:
    """A row per kernel and configuration that a call launches; lengths with the same machine code share it.

    It is of the first target, and named after all: the others have the same. No row where no code was read.
    """
    return kernel_rows(panel, targets, KernelFigures, COLUMNS, _cells)


def kernel_lines(panel: SuiteResults, *targets: str) -> list[str]:
    """The answer before the table: `cuda:h100: attn of triton_flash spills 1 080 B …` or that none spills."""
    cases = kernels_of(panel, targets[0], KernelFigures)
    called = [(owner(record), kernel) for record, kernels in cases for kernel in kernels]
    return [*answer_lines(", ".join(targets), called), *warning_lines(panel, *targets)]


def warning_lines(panel: SuiteResults, *targets: str) -> list[str]:
    """What the plan warns of at the longest length of each implementation."""
    return [
        f"{', '.join(targets)}: {sentence}."
        for record, kernels in longest(kernels_of(panel, targets[0], KernelFigures)).values()
        for sentence in warning_sentences(kernels, targets[0], owner(record))
    ]


def answer_lines(target: str, kernels: Sequence[tuple[str, KernelFigures]]) -> list[str]:
    """The sentences about kernels, given as (case, kernel); none where there is no kernel."""
    if not kernels:
        return []
    owner, kernel = max(kernels, key=lambda pair: by_need(pair[1]))
    place = f", most at {_spills(kernel)[0][0]}" if kernel.spilled_at else ""
    none = "" if kernel.spilled_bytes else "no kernel spills; "
    refused = dict.fromkeys((kernel.label, kernel.refused) for _, kernel in kernels if kernel.refused)
    return [
        f"{target}: {none}{kernel.label}{owner} {_resources_text(kernel)}{place}.",
        *(f"{target}: {label} cannot be launched: {why}." for label, why in refused),
    ]


def configurations_table(title: str, kernels: Sequence[KernelFigures]) -> TableData:
    """A row per configuration of one kernel, or of several that belong to no case."""
    return TableData.of_sections(title, COLUMNS, [((), map(_cells, kernels))])


def kernel_page(record: Record, target: str) -> list[str]:
    """All about the kernels of one case on one target, a paragraph each."""
    figures = record.static.get(target)
    if figures is None or not figures.kernels:
        why = figures.unavailable.get("program") if figures is not None else record.reason
        return [
            f"{record.case} launches no kernel whose machine code is read for {target}"
            + (f": {why}" if why else "")
        ]
    return [line for kernel in figures.kernels for line in kernel_paragraph(kernel, target, str(record.case))]


def kernel_paragraph(kernel: KernelFigures, target: str, case: str = "") -> list[str]:
    """All about one kernel on a target, as a call of a case launches it."""
    classes = ", ".join(f"{count} {name}" for name, count in kernel.instructions.items())
    tensor = (
        f", {kernel.tensor_memory_columns or 'some'} columns of tensor memory"
        if kernel.tensor_memory_columns != 0
        else ""
    )
    shared, instructions = format_bytes(kernel.shared_bytes), sum(kernel.instructions.values())
    launches = f"{kernel.launches}× in a call of {case}, " if case else ""
    return [
        f"{kernel.label} ({kernel.source}), {launches}on {target}",
        f"  {_resources_text(kernel)}",
        f"  grid {_grid(kernel)} of {kernel.warps} warps{tensor}; {shared} shared a block",
        f"  {_waves_text(kernel)}",
        f"  {instructions} instructions, {format_bytes(kernel.code_bytes)}: {classes}",
        *(f"  {sentence}" for sentence in warning_sentences([kernel], target)),
        *(f"  {count} spill instructions at {place}" for place, count in _spills(kernel)),
        f"  {kernel.program}",
        *([f"  cannot be launched: {kernel.refused}"] if kernel.refused else []),
        "",
    ]


def _cells(kernel: KernelFigures) -> list[Cell | str]:
    known, why = kernel.waves is not None, kernel.unavailable.get("waves")
    waves = Cell(f"{kernel.waves:.3g}") if known else Cell(ABSENT, sentences(why))
    return [
        kernel.label,
        _grid(kernel),
        str(kernel.warps),
        str(kernel.registers),
        Cell(short_bytes(kernel.spilled_bytes), style="red" if kernel.spilled_bytes else ""),
        short_bytes(kernel.shared_bytes),
        _tensor_cell(kernel),
        Cell(str(kernel.blocks_per_sm), (kernel.refused,) if kernel.refused else ()),
        kernel.limiter,
        waves,
        ABSENT if kernel.tail is None else f"{100 * kernel.tail:.0f} %",
        _matrix_text(kernel),
    ]


def _matrix_text(kernel: KernelFigures) -> str:
    """`24 wgmma`, `96 mma`, `general`; their sum where the record does not know their paths."""
    if (paths := kernel.matrix_paths) is None:
        return str(kernel.instructions[ALL_PATHS])
    none = "general" if kernel.products else "0"
    return ", ".join(f"{count} {path}" for path, count in paths.items()) or none


def _tensor_cell(kernel: KernelFigures) -> Cell:
    if kernel.tensor_memory_columns is None:
        return Cell(ABSENT, sentences(kernel.unavailable["tensor_memory_columns"]))
    return Cell(str(kernel.tensor_memory_columns))


def _resources_text(kernel: KernelFigures) -> str:
    """`takes 255 registers a thread, spills 1 080 B and leaves one block an SM: registers`."""
    spills = (
        f"spills {format_bytes(kernel.spilled_bytes)} a thread" if kernel.spilled_bytes else "spills nothing"
    )
    blocks = "1 block" if kernel.blocks_per_sm == 1 else f"{kernel.blocks_per_sm} blocks"
    return f"takes {kernel.registers} registers a thread, {spills}, {blocks} an SM: {kernel.limiter}"


def _waves_text(kernel: KernelFigures) -> str:
    if kernel.waves is None or kernel.tail is None:
        return f"no waves: {kernel.unavailable['waves']}"
    return f"{kernel.waves:.3g} waves, {100 * kernel.tail:.0f} % of the last one idle"


def _grid(kernel: KernelFigures) -> str:
    return "×".join(map(format_count, kernel.grid))


def _spills(kernel: KernelFigures) -> list[tuple[str, int]]:
    return sorted(((place, count) for place, count in kernel.spilled_at.items()), key=lambda pair: -pair[1])
