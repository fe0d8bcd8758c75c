"""Two sides beside each other, as tables: a panel each, one line per case; then the kernels that differ."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.analysis.compare_runs import Change, KernelChange
from harness.analysis.stats import Estimate
from harness.core.kernel_figures import KernelFigures
from harness.core.static_figures import AnyKernel
from harness.core.tpu_kernel_figures import TpuKernelFigures
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import ABSENT, short_bytes, short_label
from harness.report.tables.cells import Cell, sentences
from harness.report.tables.table_data import CASE, Column, TableData

FIGURES: Mapping[type[AnyKernel], Mapping[str, Callable[[Any], str]]] = {
    KernelFigures: {
        "registers": lambda kernel: str(kernel.registers),
        "spilled": lambda kernel: short_bytes(kernel.spilled_bytes),
        "shared": lambda kernel: short_bytes(kernel.shared_bytes),
        "blocks/SM": lambda kernel: str(kernel.blocks_per_sm),
        "limit": lambda kernel: kernel.limiter,
        "waves": lambda kernel: ABSENT if kernel.waves is None else f"{kernel.waves:.3g}",
        "idle": lambda kernel: ABSENT if kernel.tail is None else f"{100 * kernel.tail:.0f} %",
    },
    TpuKernelFigures: {
        "VMEM": lambda kernel: short_bytes(kernel.vmem_bytes),
        "of": lambda kernel: short_bytes(kernel.vmem_limit_bytes),
        "fits": lambda kernel: "no" if kernel.refused else "yes",
        "steps": lambda kernel: "?" if kernel.steps < 0 else format_count(kernel.steps),
        "scratch": lambda kernel: short_bytes(kernel.scratch_bytes),
        "semaphores": lambda kernel: str(kernel.semaphores),
    },
}


def sides_tables(changes: Sequence[Change], of: str, to: str) -> list[TableData]:
    """`changes` grouped by panel, the sides called `of` and `to`."""
    columns = (
        *CASE,
        Column(to, right=False, rank=1),
        Column(of, right=False, rank=1),
        Column(f"time, {of} / {to}", right=False),
        Column(f"{of} is", right=False),
    )
    panels = dict.fromkeys(change.panel for change in changes)
    return [_table(panel, columns, [c for c in changes if c.panel == panel]) for panel in panels]


def _table(panel: str, columns: tuple[Column, ...], changes: Sequence[Change]) -> TableData:
    rows = tuple((*_case_cells(change), *_ratio_cells(change)) for change in changes)
    family = changes[0].case.split("/", 1)[0]
    return TableData(f"{family}: {panel}", columns, rows)


def _case_cells(change: Change) -> tuple[Cell, ...]:
    name = short_label(change.of)
    if change.of != change.to:
        name = f"{name} / {short_label(change.to)}"
    return Cell(format_count(change.seq)), Cell(name), _time_cell(change.to_time), _time_cell(change.of_time)


def _time_cell(time: Estimate) -> Cell:
    """`1.42 ms [1.40, 1.45]`."""
    if time.value is None:
        return Cell(ABSENT)
    text, interval = fmt.seconds(time.value, time.low, time.high)
    return Cell(text if interval == ABSENT else f"{text} {interval}")


def _ratio_cells(change: Change) -> tuple[Cell, Cell]:
    if change.ratio is None:
        return Cell(ABSENT, sentences(change.reason)), Cell("")
    text = fmt.speedup(change.ratio, change.low, change.high)
    why = f"no interval: {change.reason}" if change.low is None else None
    return Cell(text, sentences(why, *change.warnings)), Cell(change.reading)


def kernel_changes_tables(changes: Sequence[KernelChange], of: str, to: str) -> Iterator[TableData]:
    """`168 → 255` where a figure differs, the side called `to` first; one figure where both have it.

    A table for GPUs and one for TPUs, where a kernel differs there.
    """
    for kind, figures in FIGURES.items():
        columns = (
            *CASE,
            Column("target", right=False),
            Column("kernel", right=False, folds=True),
            *(Column(name, right=False, rank=rank) for rank, name in enumerate(figures)),
            Column("code", right=False, rank=len(figures)),
        )
        sections = [
            ((format_count(change.seq), short_label(change.implementation)), [_cells(change, figures)])
            for change in changes
            if change.differs and isinstance(change.of, kind)
        ]
        if sections:
            yield TableData.of_sections(f"kernels: {short_label(to)} → {short_label(of)}", columns, sections)


def kernel_changes_line(changes: Sequence[KernelChange]) -> str:
    """How many kernels differ; equal ones have no row."""
    differing = sum(change.differs for change in changes)
    return f"kernels: {differing} of {len(changes)} differ in a figure or in their code"


def _cells(change: KernelChange, figures: Mapping[str, Callable[[Any], str]]) -> list[str]:
    pairs = [(text(change.to), text(change.of)) for text in figures.values()]
    texts = [old if old == new else f"{old} → {new}" for old, new in pairs]
    return [
        change.target,
        change.of.label,
        *texts,
        "same" if change.of.program == change.to.program else "another",
    ]
