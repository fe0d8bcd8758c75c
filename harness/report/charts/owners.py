"""The owners chart: the bytes alive over a program, and the largest buffers at its peak."""

from collections.abc import Iterator

from harness.analysis.results import representative, static_of
from harness.core.peak_owners import Owners
from harness.core.units import format_count
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import Band, LiveChart, LivePanel
from harness.report.format import short_bytes, short_label
from harness.report.tables.owners_table import curve_reservations, peak_sentence, place_of, reservations

BANDS = 5  # buffers with a band of their own
MOST = 6  # panels


def owners(grid: CaseGrid) -> LiveChart | None:
    """A panel per implementation and target, at the longest length; None where no owners are known."""
    found = list(_panels(grid))
    if not found:
        return None
    (title, peak, _), *others = found
    notes = ["instructions as they are scheduled, a loop's body once; a band is one buffer"]
    notes += dict.fromkeys(
        f"{name}: {why}"
        for name, each, _ in found
        for why in (*reservations(each), *curve_reservations(each))
    )
    if len(found) > MOST:
        notes.append(f"{len(found) - MOST} more are not drawn; name them with --impl")
    return LiveChart(
        question=f"{grid.suite.name}: which buffers own the planned peak, and which lines make them?",
        finding=None if others else f"{title}: {peak_sentence(peak)}",
        notes=tuple(notes),
        panels=tuple(panel for _, _, panel in found[:MOST]),
    )


def _panels(grid: CaseGrid) -> Iterator[tuple[str, Owners, LivePanel]]:
    """(title, owners, panel) of each implementation and target, at the longest length with a curve."""
    for panel in grid.panels:
        for target in grid.suite.compiled_targets:
            for label in grid.labels:
                cells = sorted(grid.at(panel, label), key=lambda cell: -cell.seq)
                for cell in cells:
                    static = static_of((representative(cell.records),), target)
                    if static is None or static.owners is None or not static.owners.curve:
                        continue
                    title = f"{short_label(label)} at {format_count(cell.seq)} on {target}"
                    yield title, static.owners, _panel(title, static.owners)
                    break


def _panel(title: str, found: Owners) -> LivePanel:
    largest = found.owners[:BANDS]
    # What is held from the first to the last instruction lies at the bottom, so that bands do not jump.
    ordered = sorted(largest, key=lambda owner: (owner.first - owner.last, -owner.bytes))
    return LivePanel(
        title=title,
        curve=found.curve,
        steps=found.instructions,
        bands=tuple(
            Band(f"{short_bytes(owner.bytes)}, {place_of(owner)}", owner.bytes, owner.first, owner.last)
            for owner in ordered
        ),
        peak=(found.at, f"peak {short_bytes(found.peak_bytes)}: {place_of(largest[0])}"),
    )
