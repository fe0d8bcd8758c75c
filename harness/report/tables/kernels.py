"""The kernels of a suite on each target, and the resources that they use.

On a GPU: registers, spills, shared memory and occupancy. On a TPU: VMEM, grid, and unaligned blocks.
"""

from collections.abc import Iterator, Sequence

from harness.analysis.kernel_warnings import warning_sentences
from harness.analysis.results import static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import grouped
from harness.core.kernel_figures import (
    ALL_PATHS,
    KernelFigures,
    OperandBlock,
    TpuKernelFigures,
    by_need,
    vmem_share,
)
from harness.core.record import COUNTED_MODE, Record
from harness.core.static_figures import Static
from harness.core.units import format_big, format_bytes, format_count, format_ratio
from harness.report.format import short_bytes, short_label
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.suite import heading
from harness.report.tables.table_data import CASE, Column, TableData

UNALIGNED = "unaligned: blocks that are not whole tiles of their dtype; VMEM pads them."
FAR = 2.0  # a note if the author's estimate and the family's formula differ by more than this factor
COLUMNS = (
    Column("kernel", right=False, rank=2, folds=True),
    Column("grid", rank=9),
    Column("warps", rank=6),
    Column("registers", caption="registers: per thread, at most 255."),
    Column("spilled", caption="spilled: local memory per thread, from the machine code."),
    Column("shared", rank=3, caption="shared: memory per block, without the 1 KiB that the system reserves."),
    Column("tensor", rank=8),
    Column(
        "blocks/SM",
        caption="blocks/SM: resident blocks per multiprocessor (occupancy); limit: what prevents more.",
    ),
    Column("limit", right=False),
    Column("waves", rank=4, caption="waves: times the grid fills the GPU; idle: idle share of the last one."),
    Column("idle", rank=7),
    Column(
        "matrix",
        rank=5,
        caption="matrix: matrix instructions by path (wgmma: HGMMA; mma: HMMA and similar), each loop body "
        "once; general: products without matrix instructions.",
    ),
)
TPU_COLUMNS = (
    Column("kernel", right=False, rank=4, folds=True),
    Column("grid", rank=5),
    Column("steps", rank=1, caption="steps: grid steps, one after the other on a core."),
    Column("VMEM", caption="VMEM: blocks with their second buffers, and scratch; limit: of a kernel."),
    Column("limit"),
    Column("scratch", rank=3),
    Column("semaphores", rank=6),
    Column("unaligned", right=False, rank=2, folds=True, caption=UNALIGNED),
    Column("author's FLOPs", rank=7, caption="author's FLOPs: the kernel's cost_estimate."),
)


def kernels_table(panel: SuiteResults, *targets: str) -> TableData:
    """A row per kernel and configuration that a call launches, without rows if no code was read.

    The rows are those of the first target. The title names all targets, which have the same rows.
    """
    by_length = grouped(_figures(panel, targets[0]), lambda case: format_count(case[0].seq))
    on_tpu = any(static.tpu_kernels for cases in by_length.values() for _, static in cases)
    return TableData.of_sections(
        f"{heading(panel)}: kernels on {', '.join(targets)}",
        (*CASE, *(TPU_COLUMNS if on_tpu else COLUMNS)),
        [
            ((length,), [row for record, static in cases for row in _rows(record, static)])
            for length, cases in by_length.items()
        ],
    )


def _rows(record: Record, static: Static) -> Iterator[list[Cell | str]]:
    """The rows of a case; only the first one has its name."""
    rows = [*map(_cells, static.kernels), *map(_tpu_cells, static.tpu_kernels)]
    for place, row in enumerate(rows):
        yield ["" if place else short_label(record.as_case.label), *row]


def configurations_table(title: str, kernels: Sequence[KernelFigures]) -> TableData:
    """A row per configuration of one or several kernels outside of a case."""
    return TableData.of_sections(title, COLUMNS, [((), map(_cells, kernels))])


def kernel_lines(panel: SuiteResults, *targets: str) -> list[str]:
    """The lines before the table: the most demanding kernel, warnings, and kernels that cannot run."""
    cases, target = list(_figures(panel, targets[0])), ", ".join(targets)
    kernels = [(_owner(record), kernel) for record, static in cases for kernel in static.kernels]
    tpu_kernels = [(_owner(record), kernel) for record, static in cases for kernel in static.tpu_kernels]
    return [
        *answer_lines(target, kernels),
        *warning_lines(panel, *targets),
        *_tpu_answer_lines(target, tpu_kernels),
        *(f"{target}: {text}" for record, static in cases for text in _far_estimates(record, static)),
    ]


def warning_lines(panel: SuiteResults, *targets: str) -> list[str]:
    """The kernel warnings at the longest length of each implementation."""
    longest = {record.as_case.label: (record, static) for record, static in _figures(panel, targets[0])}
    return [
        f"{', '.join(targets)}: {sentence}."
        for record, static in longest.values()
        for sentence in warning_sentences(static.kernels, targets[0], _owner(record))
    ]


def _occupancy_text(kernel: KernelFigures) -> str:
    share = "" if kernel.occupancy is None else f" ({100 * kernel.occupancy:.0f} %)"
    return f"{kernel.blocks_per_sm}{share}"


def answer_lines(target: str, kernels: Sequence[tuple[str, KernelFigures]]) -> list[str]:
    """The sentences about kernels, given as (case, kernel); empty without a kernel."""
    if not kernels:
        return []
    owner, kernel = max(kernels, key=lambda pair: by_need(pair[1]))
    place = f"; most spills are at {_spills(kernel)[0][0]}" if kernel.spilled_at else ""
    none = "" if kernel.spilled_bytes else "no kernel spills; "
    refused = dict.fromkeys((kernel.label, kernel.refused) for _, kernel in kernels if kernel.refused)
    return [
        f"{target}: {none}{kernel.label}{owner} {_resources_text(kernel)}{place}.",
        *(f"{target}: {label} cannot be launched: {why}." for label, why in refused),
    ]


def _tpu_answer_lines(target: str, kernels: Sequence[tuple[str, TpuKernelFigures]]) -> list[str]:
    """The kernels that do not fit, and the one with the highest share of VMEM among the others."""
    refused = [
        f"{target}: {kernel.label}{owner} {kernel.refused}." for owner, kernel in kernels if kernel.refused
    ]
    fitting = [pair for pair in kernels if pair[1].vmem_bytes is not None and not pair[1].refused]
    lines = list(dict.fromkeys(refused))
    if fitting:
        owner, fullest = max(fitting, key=lambda pair: vmem_share(pair[1]))
        every = "" if refused else "every kernel fits; "
        lines.append(f"{target}: {every}{fullest.label}{owner} {_vmem_text(fullest)}.")
    return lines


def _far_estimates(record: Record, static: Static) -> Iterator[str]:
    """A sentence if the author's FLOPs of a case differ from the family's formula by a factor of FAR."""
    estimates = [kernel.calls * (kernel.author_flops or 0) for kernel in static.tpu_kernels]
    formula = record.cost.flops
    if not estimates or not all(estimates) or not formula or record.mode != COUNTED_MODE:
        return
    ratio = sum(estimates) / formula
    if not 1 / FAR < ratio < FAR:
        yield (
            f"the author's estimate for {short_label(record.as_case.label)} at {format_count(record.seq)} "
            f"is {format_big(sum(estimates))} FLOPs, {format_ratio(ratio)} the family's formula."
        )


def kernel_page(record: Record, target: str) -> list[str]:
    """The details of the kernels of one case on one target, a paragraph each."""
    figures = record.static.get(target)
    if figures is None or not figures.all_kernels:
        why = figures.unavailable.get("program") if figures is not None else record.reason
        none = f"{record.case} launches no kernel with known machine code for {target}"
        return [f"{none}: {why}" if why else none]
    lines = [
        line for kernel in figures.kernels for line in kernel_paragraph(kernel, target, str(record.case))
    ]
    return lines + [line for kernel in figures.tpu_kernels for line in _tpu_paragraph(kernel, target, record)]


def kernel_paragraph(kernel: KernelFigures, target: str, case: str = "") -> list[str]:
    """The details of one kernel on a target, as a call of a case launches it."""
    classes = ", ".join(f"{count} {name}" for name, count in kernel.instructions.items())
    columns = kernel.tensor_memory_columns
    tensor = "" if columns == 0 else f", {columns or 'some'} columns of tensor memory"
    shared, instructions = format_bytes(kernel.shared_bytes), sum(kernel.instructions.values())
    launches = f"{kernel.launches}× per call of {case}, " if case else ""
    return [
        f"{kernel.label} ({kernel.source}), {launches}on {target}",
        f"  {_resources_text(kernel)}",
        f"  grid {_sizes(kernel.grid)}; per block {kernel.warps} warps, {shared} shared memory{tensor}",
        f"  {_waves_text(kernel)}",
        f"  {instructions} instructions, {format_bytes(kernel.code_bytes)}: {classes}",
        *(f"  {sentence}" for sentence in warning_sentences([kernel], target)),
        *(f"  {count} spill instructions at {place}" for place, count in _spills(kernel)),
        f"  {kernel.program}",
        *([f"  cannot be launched: {kernel.refused}"] if kernel.refused else []),
        "",
    ]


def _cells(kernel: KernelFigures) -> list[Cell | str]:
    return [
        kernel.label,
        _sizes(kernel.grid),
        str(kernel.warps),
        str(kernel.registers),
        Cell(short_bytes(kernel.spilled_bytes), style="red" if kernel.spilled_bytes else ""),
        short_bytes(kernel.shared_bytes),
        _cell(kernel, "tensor_memory_columns"),
        Cell(_occupancy_text(kernel), (kernel.refused,) if kernel.refused else ()),
        kernel.limiter,
        _cell(kernel, "waves"),
        ABSENT if kernel.tail is None else f"{100 * kernel.tail:.0f} %",
        _matrix_text(kernel),
    ]


def _cell(kernel: KernelFigures, name: str) -> Cell:
    """A figure that may be missing, with its reason."""
    value = getattr(kernel, name)
    return Cell(ABSENT, sentences(kernel.unavailable[name])) if value is None else Cell(f"{value:.3g}")


def _matrix_text(kernel: KernelFigures) -> str:
    """`24 wgmma`, `96 mma`, `general`; only the sum if the record does not have the paths."""
    if (paths := kernel.matrix_paths) is None:
        return str(kernel.instructions[ALL_PATHS])
    none = "general" if kernel.products else "0"
    return ", ".join(f"{count} {path}" for path, count in paths.items()) or none


def _resources_text(kernel: KernelFigures) -> str:
    """`uses 255 registers and spills 1.05 KiB per thread, 1 block per SM (limit: registers)`."""
    spilled = kernel.spilled_bytes
    spills = f" and spills {format_bytes(spilled)} per thread" if spilled else " per thread, no spills"
    blocks = "1 block" if kernel.blocks_per_sm == 1 else f"{kernel.blocks_per_sm} blocks"
    return f"uses {kernel.registers} registers{spills}, {blocks} per SM (limit: {kernel.limiter})"


def _waves_text(kernel: KernelFigures) -> str:
    if kernel.waves is None or kernel.tail is None:
        return f"no waves: {kernel.unavailable['waves']}"
    return f"{kernel.waves:.3g} waves, {100 * kernel.tail:.0f} % of the last one idle"


def _spills(kernel: KernelFigures) -> list[tuple[str, int]]:
    return sorted(((place, count) for place, count in kernel.spilled_at.items()), key=lambda pair: -pair[1])


def _tpu_paragraph(kernel: TpuKernelFigures, target: str, record: Record) -> list[str]:
    author = "no estimate" if kernel.author_flops is None else f"{format_big(kernel.author_flops)} FLOPs"
    formula = format_big(record.cost.flops) if record.cost.flops is not None else "none"
    return [
        f"{kernel.label} ({kernel.source}), {kernel.calls}× per call of {record.case}, on {target}",
        f"  {kernel.refused or _vmem_text(kernel)}",
        f"  grid {_sizes(kernel.grid)}, {_steps(kernel)} steps",
        f"  {short_bytes(kernel.scratch_bytes)} scratch, {kernel.semaphores} semaphores",
        *(f"  {_block(block)}" for block in kernel.blocks),
        f"  author's cost_estimate: {author}; family's formula (forward): {formula}",
        f"  {kernel.program}",
        "",
    ]


def _figures(panel: SuiteResults, target: str) -> Iterator[tuple[Record, Static]]:
    """The figures of each case with kernels on a target, shortest length first."""
    for records in panel.by_case.values():
        figures = static_of(records, target)
        if figures is not None and figures.all_kernels:
            yield records[0], figures


def _owner(record: Record) -> str:
    """` of triton_flash at 64Ki`: the case of a kernel, to append to its name."""
    return f" of {short_label(record.as_case.label)} at {format_count(record.seq)}"


def _tpu_cells(kernel: TpuKernelFigures) -> list[Cell | str]:
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
    return f"uses {used} of VMEM (limit: {limit}), in {_steps(kernel)} steps"


def _block(block: OperandBlock) -> str:
    """`k_ref: bf16 blocks of 128×128 from 8×64Ki×128 in vmem`, and a note if they are not whole tiles."""
    where = f"{block.operand}: {block.dtype} blocks of {_sizes(block.block)} from {_sizes(block.array)}"
    off = f", not whole tiles of {_sizes(block.tile)}" if block.is_padded else ""
    return f"{where} in {block.memory}{off}"


def _sizes(sizes: tuple[int, ...]) -> str:
    return "×".join("?" if size < 0 else format_count(size) for size in sizes) or "1"


def _steps(kernel: TpuKernelFigures) -> str:
    return "?" if kernel.steps < 0 else format_count(kernel.steps)
