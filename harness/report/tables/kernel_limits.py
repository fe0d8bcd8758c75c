"""The longest length of each implementation on a GPU, with its neediest kernel and its roofline bound."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.device_bound import device_bound
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import collected, grouped
from harness.core.kernel_figures import KernelFigures, by_need
from harness.core.record import COUNTED_MODE, Record
from harness.core.units import format_count, format_seconds
from harness.report.format import ABSENT, short_bytes, short_label
from harness.report.tables.cells import Cell, name_cell
from harness.report.tables.kernel_rows import kernels_of, longest
from harness.report.tables.max_seq import length_cell
from harness.report.tables.suite import heading
from harness.report.tables.table_data import Column, TableData

Entries = Sequence[Mapping[str, Any]]
CAPTION = (
    "Longest: by planned memory. Registers to limit: of the kernel that spills most, else that takes most "
    "registers. FLOPs/B: by the family's formulas; bound: what a call takes at least by documented rates, "
    "where marked by that of memory. All but the first are at the longest length whose kernels were read; "
    "nothing ran there."
)
COLUMNS = (
    *(Column(name, right=False, folds=name != "target") for name in ("target", "implementation")),
    Column("longest", right=False),
    Column("registers", rank=1),
    Column("spilled", rank=2),
    Column("blocks/SM", rank=3),
    Column("limit", right=False, rank=4),
    Column("FLOPs/B", rank=6),
    Column("bound", right=False, rank=5),
)


def limits_table(panel: SuiteResults, largest: Entries) -> TableData:
    """A row per GPU and implementation; `largest` as run.json has it.

    Without rows where no length was looked for, or no kernel was read.
    """
    sections: list[tuple[tuple[str], list[list[Cell | str]]]] = []
    for target, entries in _by_target(panel, largest).items():
        known = longest(kernels_of(panel, target, KernelFigures))
        rows: list[list[Cell | str]] = []
        for entry in entries:
            label = entry["implementation"]
            figures = _figures(*known[label], target) if label in known else [ABSENT] * 6
            rows.append([name_cell(label, panel.bounds), length_cell(entry), *figures])
        if known:
            sections.append(((target,), rows))
    title = f"{heading(panel)}: longest length that fits"
    return replace(TableData.of_sections(title, COLUMNS, sections), caption=CAPTION)


def without_limits(panels: Iterable[SuiteResults], largest: Entries) -> list[Mapping[str, Any]]:
    """The entries that `limits_table` has no row for: those of targets where no kernel was read."""
    shown = [
        entry
        for panel in panels
        for target, entries in _by_target(panel, largest).items()
        if any(True for _ in kernels_of(panel, target, KernelFigures))
        for entry in entries
    ]
    return [entry for entry in largest if entry not in shown]


def limits_lines(panel: SuiteResults, largest: Entries) -> list[str]:
    """Per target, the longest lengths whose plans fit, with their implementations, longest first."""
    lines: list[str] = []
    for target, entries in _by_target(panel, largest).items():
        known = sorted((entry for entry in entries if entry["seq"]), key=lambda entry: -entry["seq"])
        names = collected((length_cell(entry).text, short_label(entry["implementation"])) for entry in known)
        if names:
            lengths = "; ".join(f"{', '.join(of)}: {length}" for length, of in names.items())
            lines.append(f"{target}: the longest length whose plan fits: {lengths}.")
    return lines


def _by_target(panel: SuiteResults, largest: Entries) -> dict[str, list[Mapping[str, Any]]]:
    """Target → the lengths found by compiling a panel's implementations."""
    own = {(case.label, case.panel) for case in panel.by_case.values()}
    own_entries = [
        entry
        for entry in largest
        if entry["suite"] == panel.name and (entry["implementation"], entry["panel"]) in own
    ]
    by_target = grouped(own_entries, lambda entry: entry["target"])
    return {target: by_target[target] for target in panel.compiled_targets if target in by_target}


def _figures(record: Record, kernels: Sequence[KernelFigures], target: str) -> list[Cell | str]:
    kernel = max(kernels, key=by_need)
    cost, bound = record.cost, device_bound(record, target)
    intensity = ABSENT
    if record.mode == COUNTED_MODE and cost.flops is not None and cost.bytes:
        intensity = f"{cost.flops / cost.bytes:.3g}"
    by = " (bytes)" if bound and bound.by == "bytes" else ""
    return [
        str(kernel.registers),
        Cell(short_bytes(kernel.spilled_bytes), style="red" if kernel.spilled_bytes else ""),
        str(kernel.blocks_per_sm),
        kernel.limiter,
        intensity,
        f"{format_seconds(bound.seconds)}{by} at {format_count(record.seq)}" if bound else ABSENT,
    ]
