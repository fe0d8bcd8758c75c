"""The kernels of two sides beside each other: a row for each that differs in a figure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.analysis.compare_runs import KernelChange
from harness.core.kernel_figures import KernelFigures
from harness.core.static_figures import AnyKernel
from harness.core.tpu_kernel_figures import TpuKernelFigures
from harness.core.units import format_count
from harness.report.format import ABSENT, short_bytes, short_label
from harness.report.tables.table_data import Column, TableData

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


def kernel_changes_tables(changes: Sequence[KernelChange], of: str, to: str) -> Iterator[TableData]:
    """`168 → 255` where a figure differs, the side called `to` first; one figure where both have it.

    A table for GPUs and one for TPUs, where a kernel differs there.
    """
    for kind, figures in FIGURES.items():
        columns = (
            Column("seq"),
            Column("implementation", right=False, folds=True),
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
    """How many kernels differ: those that do not have no row."""
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
