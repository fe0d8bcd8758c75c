"""How much of a multiprocessor the kernels of each case fill, and which resource allows no more."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.analysis.results import HOST, static_of
from harness.analysis.suite_results import CaseResult
from harness.core.grouped import collected, grouped
from harness.core.kernel_figures import KernelFigures
from harness.core.units import format_bytes, format_count
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import BarChart, BarPanel, ShareBar
from harness.report.charts.notes import failure_notes
from harness.report.format import short_label, trim_zeros

MOST = 32  # bars of a panel
OCCUPANCY = "occupancy: of a multiprocessor's warps those that its blocks fill; more of it need not be faster"
BEHIND = "behind a bar: the resource that allows no more blocks"


def occupancy(grid: CaseGrid) -> BarChart | None:
    """A bar per kernel, configuration and occupancy, with the lengths and targets that have it.

    None where no kernel's machine code was read.
    """
    panels = {panel: list(_bars(grid, panel)) for panel in grid.panels}
    panels = {panel: bars for panel, bars in panels.items() if bars}
    if not panels:
        return None
    lengths = sorted({cell.seq for cell in grid.cells})
    question = f"{grid.suite.name}: how much of a multiprocessor do kernels fill, and what allows no more?"
    return BarChart(
        title=_finding(*panels.values()) if len(panels) == 1 else question,
        question=question,
        x_label=f"occupancy at {', '.join(map(format_count, lengths))}",
        panels=tuple(BarPanel(grid.title(panel, ""), tuple(bars[:MOST])) for panel, bars in panels.items()),
        notes=(
            OCCUPANCY,
            BEHIND,
            *(
                f"{len(bars) - MOST} more bars are not drawn; seqsweep export --kernels has all kernels"
                for bars in panels.values()
                if len(bars) > MOST
            ),
            *failure_notes(grid),
        ),
    )


def _bars(grid: CaseGrid, panel: str) -> Iterator[ShareBar]:
    targets = [target for target in grid.suite.compiled_targets if target != HOST]
    several = len({cell.label for cell in grid.at(panel)}) > 1
    for label in grid.labels:
        cells = grid.at(panel, label)
        lengths_of = collected(
            ((kernel.label, _fill_of(kernel), target), seq)
            for target in targets
            for seq, kernel in _kernels(cells, target)
        )
        targets_of = collected(
            ((name, fill, tuple(lengths)), target) for (name, fill, target), lengths in lengths_of.items()
        )
        for by_name in grouped(targets_of, lambda place: place[0]).values():
            for name, fill, lengths in by_name:
                on = targets_of[name, fill, lengths]
                parts = (
                    short_label(label) if several else "",
                    name,
                    "" if lengths == grid.lengths(panel) else ", ".join(map(format_count, lengths)),
                    "" if 1 < len(on) == len(targets) else f"on {_shorten(on)}",
                )
                yield ShareBar(label, " · ".join(filter(None, parts)), *fill)


def _kernels(cells: Sequence[CaseResult], target: str) -> Iterator[tuple[int, KernelFigures]]:
    """The kernels whose occupancy is known, once where a call launches one alike on several grids."""
    for cell in cells:
        static = static_of(cell.records, target)
        known = (kernel for kernel in (static.kernels if static else ()) if kernel.occupancy is not None)
        for kernel in {(kernel.label, _fill_of(kernel)): kernel for kernel in known}.values():
            yield cell.seq, kernel


class Fill(NamedTuple):
    """Occupancy, the words behind its bar, and whether the kernel spills or cannot be launched."""

    share: float
    words: str
    alarming: bool


def _fill_of(kernel: KernelFigures) -> Fill:
    share = kernel.occupancy or 0.0
    if kernel.refused:
        return Fill(share, f"cannot be launched: {kernel.limiter}", alarming=True)
    amounts = {
        "registers": f" ({kernel.registers} a thread)",
        "shared memory": f" ({trim_zeros(format_bytes(kernel.shared_bytes))} a block)",
    }
    words = f"{100 * share:.0f} %, {kernel.limiter}{amounts.get(kernel.limiter, '')}"
    if kernel.spilled_bytes:
        words += f", spills {trim_zeros(format_bytes(kernel.spilled_bytes))}"
    return Fill(share, words, bool(kernel.spilled_bytes))


def _shorten(targets: Sequence[str]) -> str:
    """`cuda:h100, h200`."""
    return ", ".join([targets[0], *(name.partition(":")[2] for name in targets[1:])])


def _finding(bars: Sequence[ShareBar]) -> str:
    least = min(bars, key=lambda bar: bar.share)
    return f"least occupied: {least.name.replace(' · ', ' ')}: {least.words}"
