"""The kernels of two sides beside each other: a row for each that differs in a figure."""

from collections.abc import Callable, Sequence

from harness.analysis.compare_runs import KernelChange
from harness.core.kernel_figures import KernelFigures
from harness.core.units import format_bytes, format_count
from harness.report.format import ABSENT, short_label, trim_zeros
from harness.report.tables.table_data import Column, TableData

FIGURES: dict[str, Callable[[KernelFigures], str]] = {
    "registers": lambda kernel: str(kernel.registers),
    "spilled": lambda kernel: trim_zeros(format_bytes(kernel.spilled_bytes)),
    "shared": lambda kernel: trim_zeros(format_bytes(kernel.shared_bytes)),
    "blocks/SM": lambda kernel: str(kernel.blocks_per_sm),
    "limit": lambda kernel: kernel.limiter,
    "waves": lambda kernel: ABSENT if kernel.waves is None else f"{kernel.waves:.3g}",
    "idle": lambda kernel: ABSENT if kernel.tail is None else f"{100 * kernel.tail:.0f} %",
}
COLUMNS = (
    Column("seq"),
    Column("implementation", right=False, folds=True),
    Column("target", right=False),
    Column("kernel", right=False, folds=True),
    *(Column(name, right=False, rank=rank) for rank, name in enumerate(FIGURES)),
    Column("code", right=False, rank=len(FIGURES)),
)


def kernel_changes_table(changes: Sequence[KernelChange], of: str, to: str) -> TableData:
    """`168 → 255` where a figure differs, the side called `to` first; one figure where both have it."""
    sections = [
        ((format_count(change.seq), short_label(change.implementation)), [_cells(change)])
        for change in changes
        if change.differs
    ]
    return TableData.of_sections(f"kernels: {short_label(to)} → {short_label(of)}", COLUMNS, sections)


def kernel_changes_line(changes: Sequence[KernelChange]) -> str:
    """How many kernels differ: those that do not have no row."""
    differing = sum(change.differs for change in changes)
    return f"kernels: {differing} of {len(changes)} differ in a figure or in their code"


def _cells(change: KernelChange) -> list[str]:
    figures = [(text(change.to), text(change.of)) for text in FIGURES.values()]
    texts = [old if old == new else f"{old} → {new}" for old, new in figures]
    return [
        change.target,
        change.of.label,
        *texts,
        "same" if change.of.program == change.to.program else "another",
    ]
