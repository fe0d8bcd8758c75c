"""The Pallas kernels of a suite on each TPU: VMEM used and available, the grid, and unaligned blocks."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.suite_results import SuiteResults
from harness.core.kernel_figures import OperandBlock, TpuKernelFigures, vmem_share
from harness.core.record import COUNTED_MODE, Record
from harness.core.units import format_big, format_count, format_ratio
from harness.report.format import ABSENT, short_bytes, short_label
from harness.report.tables.cells import Cell
from harness.report.tables.kernels import kernel_rows, kernels_of, owner
from harness.report.tables.table_data import Column, TableData

COLUMNS = (
    Column("kernel", right=False, rank=4, folds=True),
    Column("grid", rank=5, ranged=True),
    Column("steps", rank=1, ranged=True, caption="steps: of the grid, one after the other on a core."),
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
    Column("author's FLOPs", rank=7, ranged=True, caption="author's FLOPs: the kernel's own cost_estimate."),
)
FAR = 2.0  # an estimate this many times the family's formula, or the formula the estimate


def tpu_kernels_table(panel: SuiteResults, *targets: str) -> TableData:
    """A row per kernel of a call, of the first target: the others have the same."""
    return kernel_rows(panel, targets, TpuKernelFigures, COLUMNS, _cells)


def tpu_kernel_lines(panel: SuiteResults, *targets: str) -> list[str]:
    """The answer before the table: the fullest kernel, or those that do not fit; estimates far off."""
    target = ", ".join(targets)
    found = [
        (f"{kernel.label}{owner(record)}", kernel)
        for record, kernels in kernels_of(panel, targets[0], TpuKernelFigures)
        for kernel in kernels
    ]
    refused = [f"{target}: {name} {kernel.refused}." for name, kernel in found if kernel.refused]
    fitting = [pair for pair in found if pair[1].vmem_bytes is not None and not pair[1].refused]
    lines = list(dict.fromkeys(refused))
    if fitting:
        name, fullest = max(fitting, key=lambda pair: vmem_share(pair[1]))
        every = "" if refused else "every kernel fits; "
        lines.append(f"{target}: {every}{name} {_vmem_text(fullest)}.")
    return [*lines, *(f"{target}: {said}" for said in _far_estimates(panel, targets[0]))]


def tpu_kernel_page(record: Record, target: str) -> list[str]:
    """All about the Pallas kernels of one case on one TPU, a paragraph each."""
    lines: list[str] = []
    for kernel in record.static[target].tpu_kernels:
        author = "no estimate" if kernel.author_flops is None else f"{format_big(kernel.author_flops)} FLOPs"
        formula = format_big(record.cost.flops) if record.cost.flops is not None else "none"
        lines += [
            f"{kernel.label} ({kernel.source}), {kernel.calls}× in a call of {record.case}, on {target}",
            f"  {kernel.refused or _vmem_text(kernel)}",
            f"  grid {_sizes(kernel.grid)}, {_steps(kernel)} steps",
            f"  {short_bytes(kernel.scratch_bytes)} of scratch, {kernel.semaphores} semaphores",
            *(f"  {_block(block)}" for block in kernel.blocks),
            f"  its author's cost_estimate: {author}; the family's formula, forward: {formula}",
            f"  {kernel.program}",
            "",
        ]
    return lines


def _far_estimates(panel: SuiteResults, target: str) -> Iterator[str]:
    """A sentence per case whose authors' FLOPs are twice the family's, or half of them."""
    for record, kernels in kernels_of(panel, target, TpuKernelFigures):
        estimates = [kernel.calls * (kernel.author_flops or 0) for kernel in kernels]
        formula = record.cost.flops
        if not all(estimates) or not formula or record.mode != COUNTED_MODE:
            continue
        ratio = sum(estimates) / formula
        if not 1 / FAR < ratio < FAR:
            yield (
                f"by its author {short_label(record.as_case.label)} at {format_count(record.seq)} "
                f"computes {format_big(sum(estimates))} FLOPs, {format_ratio(ratio)} the family's formula."
            )


def _cells(kernel: TpuKernelFigures) -> list[Cell | str]:
    refused = (kernel.refused,) if kernel.refused else ()
    return [
        kernel.label,
        _sizes(kernel.grid),
        _steps(kernel),
        Cell(short_bytes(kernel.vmem_bytes), refused, "red" if refused else ""),
        short_bytes(kernel.vmem_limit_bytes),
        short_bytes(kernel.scratch_bytes),
        str(kernel.semaphores),
        ", ".join(f"{block.operand} {_sizes(block.block)}" for block in kernel.blocks if block.is_padded),
        ABSENT if kernel.author_flops is None else format_big(kernel.author_flops),
    ]


def _vmem_text(kernel: TpuKernelFigures) -> str:
    used, limit = short_bytes(kernel.vmem_bytes), short_bytes(kernel.vmem_limit_bytes)
    return f"takes {used} of the {limit} of VMEM that it gets, in {_steps(kernel)} steps"


def _block(block: OperandBlock) -> str:
    """`k_ref: bf16 blocks of 128×128 from 8×64Ki×128 in vmem`, and whether they are whole tiles."""
    where = f"{block.operand}: {block.dtype} blocks of {_sizes(block.block)} from {_sizes(block.array)}"
    off = f", not whole tiles of {_sizes(block.tile)}" if block.is_padded else ""
    return f"{where} in {block.memory}{off}"


def _sizes(sizes: tuple[int, ...]) -> str:
    return "×".join("?" if size < 0 else format_count(size) for size in sizes) or "1"


def _steps(kernel: TpuKernelFigures) -> str:
    return "?" if kernel.steps < 0 else format_count(kernel.steps)
