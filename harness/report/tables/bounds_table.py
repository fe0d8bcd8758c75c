"""Roofline bounds as a table: the least time of each implementation, by documented rates per accelerator."""

from harness.analysis.device_bound import DeviceBound, device_bounds, first_below
from harness.analysis.suite_results import SuiteResults
from harness.core.units import format_count, format_seconds
from harness.report.format import ABSENT, short_label
from harness.report.tables.cells import Cell, name_cell
from harness.report.tables.table_data import Column, TableData

CAPTION = (
    "bound: what a call takes at least, FLOPs by the family's formula at the device's documented peak or, "
    "where marked, bytes at its bandwidth; nothing ran there."
)


def bounds_table(panel: SuiteResults) -> TableData:
    """A row per implementation with its bounds at the longest length that has any.

    Without rows where no bound is known, and where all implementations have the same bounds.
    """
    known = {target: device_bounds(panel, target) for target in panel.compiled_targets}
    known = {target: bounds for target, bounds in known.items() if bounds}
    longest = max((seq for bounds in known.values() for own in bounds.values() for seq in own), default=0)
    begins = {target: first_below(bounds, panel.baseline) for target, bounds in known.items()}
    rows = [
        (
            name_cell(label, panel.bounds),
            *(_cell(bounds.get(label, {}).get(longest)) for bounds in known.values()),
            Cell(_lengths([begin[label] for begin in begins.values() if label in begin])),
        )
        for label in panel.implementations
        if any(longest in bounds.get(label, {}) for bounds in known.values())
    ]
    differ = len({row[1:-1] for row in rows}) > 1
    base = short_label(panel.baseline)
    return TableData(
        title="",
        columns=(
            Column(f"bound at {format_count(longest)}", right=False, folds=True),
            *(Column(target, rank=rank) for rank, target in enumerate(known)),
            Column(f"below {base}'s from", relative=True),
        ),
        rows=tuple(rows) if differ else (),
        caption=CAPTION,
    )


def bound_lines(panel: SuiteResults) -> list[str]:
    """Per accelerator, the bounds at the longest length, and from where on one is below the baseline's.

    No line where all implementations have the same bounds.
    """
    lines: list[str] = []
    for target in panel.compiled_targets:
        bounds = device_bounds(panel, target)
        longest = max((seq for own in bounds.values() for seq in own), default=0)
        begins = first_below(bounds, panel.baseline)
        said: list[str] = []
        for label in panel.implementations:
            if longest not in (own := bounds.get(label, {})):
                continue
            text = f"{short_label(label)} {_cell(own[longest]).text}"
            if label in begins:
                shortest = ", the shortest compiled" if begins[label] == min(own) else ""
                start = format_count(begins[label])
                text += f" (below {short_label(panel.baseline)}'s from {start} on{shortest})"
            said.append(text)
        if len({own.get(longest) for own in bounds.values()} - {None}) > 1:
            how = "by the family's formulas at documented rates, at least"
            lines.append(f"{target}: a call at {format_count(longest)} takes, {how}: {'; '.join(said)}.")
    return lines


def _cell(found: DeviceBound | None) -> Cell:
    if found is None:
        return Cell(ABSENT)
    return Cell(format_seconds(found.seconds) + (" (bytes)" if found.by == "bytes" else ""))


def _lengths(lengths: list[int]) -> str:
    """One length where targets agree, else the first and the last."""
    texts = [format_count(seq) for seq in sorted(set(lengths))]
    return "–".join(dict.fromkeys((texts[0], texts[-1]))) if texts else ABSENT
