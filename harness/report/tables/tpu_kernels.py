"""The Pallas kernels of a suite on each TPU: VMEM of what there is, the grid, and blocks off the tile."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.results import static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.record import COUNTED_MODE, Record
from harness.core.tpu_kernel_figures import OperandBlock, TpuKernelFigures
from harness.core.units import format_big, format_bytes, format_count, format_ratio
from harness.report.format import ABSENT, short_label, trim_zeros
from harness.report.tables.cells import Cell
from harness.report.tables.suite import heading
from harness.report.tables.table_data import Column, TableData

COLUMNS = (
    Column("seq"),
    Column("implementation", right=False),
    Column("kernel", right=False, rank=4, folds=True),
    Column("grid", rank=5),
    Column("steps", rank=1, caption="steps: of the grid, one after the other on a core."),
    Column("VMEM", caption="VMEM: blocks with their second buffers, and scratch; of: what a kernel gets."),
    Column("of"),
    Column("scratch", rank=3),
    Column("semaphores", rank=6),
    Column(
        "unaligned",
        right=False,
        rank=2,
        folds=True,
        caption="unaligned: blocks of no whole tiles of their dtype, which VMEM is filled up to.",
    ),
    Column("author's FLOPs", rank=7, caption="author's FLOPs: the kernel's own cost_estimate."),
)
FAR = 2.0  # an estimate this many times the family's formula, or the formula the estimate


def tpu_kernels_table(panel: SuiteResults, target: str) -> TableData:
    """A row per kernel of a call."""
    sections = [
        (
            (format_count(record.seq), short_label(record.as_case.label)),
            [_cells(kernel) for kernel in kernels],
        )
        for record, kernels in _kernels(panel, target)
    ]
    return TableData.of_sections(f"{heading(panel)}: kernels on {target}", COLUMNS, sections)


def tpu_kernel_lines(panel: SuiteResults, target: str) -> list[str]:
    """The answer before the table: the fullest kernel, or those that do not fit; estimates far off."""
    found = [(record, kernel) for record, kernels in _kernels(panel, target) for kernel in kernels]
    refused = [f"{target}: {_name(*pair)} {pair[1].refused}." for pair in found if pair[1].refused]
    fitting = [pair for pair in found if pair[1].vmem_bytes is not None and not pair[1].refused]
    lines = list(dict.fromkeys(refused))
    if fitting:
        record, fullest = max(fitting, key=lambda pair: (pair[1].vmem_bytes or 0) / pair[1].vmem_limit_bytes)
        every = "" if refused else "every kernel fits; "
        lines.append(f"{target}: {every}{_name(record, fullest)} {_takes(fullest)}.")
    return [*lines, *_far_estimates(panel, target)]


def tpu_kernel_page(record: Record, target: str) -> list[str]:
    """All about the Pallas kernels of one case on one TPU, a paragraph each."""
    lines: list[str] = []
    for kernel in record.static[target].tpu_kernels:
        author = "no estimate" if kernel.author_flops is None else f"{format_big(kernel.author_flops)} FLOPs"
        formula = format_big(record.cost.flops) if record.cost.flops is not None else "none"
        lines += [
            f"{kernel.label} ({kernel.source}), {kernel.calls}× in a call of {record.case}, on {target}",
            f"  {kernel.refused or _takes(kernel)}",
            f"  grid {_sizes(kernel.grid)}, {_steps(kernel)} steps",
            f"  {_bytes(kernel.scratch_bytes)} of scratch, {kernel.semaphores} semaphores",
            *(f"  {_block(block)}" for block in kernel.blocks),
            f"  its author's cost_estimate: {author}; the family's formula, forward: {formula}",
            f"  {kernel.program}",
            "",
        ]
    return lines


def _far_estimates(panel: SuiteResults, target: str) -> Iterator[str]:
    """A sentence per case whose authors' FLOPs are twice the family's, or half of them."""
    for record, kernels in _kernels(panel, target):
        estimates = [kernel.calls * (kernel.author_flops or 0) for kernel in kernels]
        formula = record.cost.flops
        if not all(estimates) or not formula or record.mode != COUNTED_MODE:
            continue
        ratio = sum(estimates) / formula
        if not 1 / FAR < ratio < FAR:
            yield (
                f"{target}: by its author {short_label(record.as_case.label)} at {format_count(record.seq)} "
                f"computes {format_big(sum(estimates))} FLOPs, {format_ratio(ratio)} the family's formula."
            )


def _kernels(panel: SuiteResults, target: str) -> Iterator[tuple[Record, tuple[TpuKernelFigures, ...]]]:
    for records in panel.by_case.values():
        figures = static_of(records, target)
        if figures is not None and figures.tpu_kernels:
            yield records[0], figures.tpu_kernels


def _cells(kernel: TpuKernelFigures) -> list[Cell | str]:
    refused = (kernel.refused,) if kernel.refused else ()
    return [
        kernel.label,
        _sizes(kernel.grid),
        _steps(kernel),
        Cell(_bytes(kernel.vmem_bytes), refused, "red" if refused else ""),
        _bytes(kernel.vmem_limit_bytes),
        _bytes(kernel.scratch_bytes),
        str(kernel.semaphores),
        ", ".join(f"{block.operand} {_sizes(block.block)}" for block in kernel.blocks if _is_off(block)),
        ABSENT if kernel.author_flops is None else format_big(kernel.author_flops),
    ]


def _name(record: Record, kernel: TpuKernelFigures) -> str:
    return f"{kernel.label} of {short_label(record.as_case.label)} at {format_count(record.seq)}"


def _takes(kernel: TpuKernelFigures) -> str:
    used, limit = _bytes(kernel.vmem_bytes), _bytes(kernel.vmem_limit_bytes)
    return f"takes {used} of the {limit} of VMEM that it gets, in {_steps(kernel)} steps"


def _block(block: OperandBlock) -> str:
    """`k_ref: bf16 blocks of 128×128 from 8×64Ki×128 in vmem`, and whether they are whole tiles."""
    where = f"{block.operand}: {block.dtype} blocks of {_sizes(block.block)} from {_sizes(block.array)}"
    off = f", not whole tiles of {_sizes(block.tile)}" if _is_off(block) else ""
    return f"{where} in {block.memory}{off}"


def _is_off(block: OperandBlock) -> bool:
    return block.memory == "vmem" and not block.aligned


def _sizes(sizes: tuple[int, ...]) -> str:
    return "×".join("?" if size < 0 else format_count(size) for size in sizes) or "1"


def _steps(kernel: TpuKernelFigures) -> str:
    return "?" if kernel.steps < 0 else format_count(kernel.steps)


def _bytes(count: int | None) -> str:
    return ABSENT if count is None else trim_zeros(format_bytes(count))
