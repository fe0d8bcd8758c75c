"""The occupancy chart: how much of a multiprocessor, or of a TPU core's VMEM, each case's kernels fill."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from harness.analysis.results import HOST, static_of
from harness.analysis.suite_results import CaseResult
from harness.core.grouped import collected, grouped
from harness.core.kernel_figures import KernelFigures
from harness.core.static_figures import AnyKernel
from harness.core.tpu_kernel_figures import TpuKernelFigures, vmem_share
from harness.core.units import format_count
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import BarChart, BarPanel, ShareBar
from harness.report.charts.notes import failure_notes
from harness.report.format import short_bytes, short_label

MOST = 32  # bars of a panel


def occupancy(grid: CaseGrid) -> BarChart | None:
    """A bar per kernel, configuration and share, with the lengths and targets that have it.

    GPUs and TPUs have panels of their own. None where neither machine code nor VMEM was read.
    """
    found = {(share, panel): list(_bars(grid, panel, share)) for panel in grid.panels for share in SHARES}
    panels = {place: bars for place, bars in found.items() if bars}
    if not panels:
        return None
    lengths = ", ".join(map(format_count, sorted({cell.seq for cell in grid.cells})))
    shares = tuple(dict.fromkeys(share for share, _ in panels))
    return BarChart(
        question=f"{grid.suite.name}: {' '.join(share.question for share in shares)}",
        finding=_finding(*next(iter(panels.items()))) if len(panels) == 1 else None,
        x_label=f"{', '.join(share.name for share in shares)} at {lengths}",
        panels=tuple(
            BarPanel(grid.title(panel, share.name if len(shares) > 1 else ""), tuple(bars[:MOST]))
            for (share, panel), bars in panels.items()
        ),
        notes=(
            *(note for share in shares for note in share.notes),
            *(
                f"{len(bars) - MOST} more bars are not drawn; seqsweep export --kernels has all kernels"
                for bars in panels.values()
                if len(bars) > MOST
            ),
            *failure_notes(grid),
        ),
    )


class Fill(NamedTuple):
    """A share, the words behind its bar, and whether they are a warning."""

    share: float
    words: str
    alarming: bool


def _occupancy_fill(kernel: KernelFigures) -> Fill | None:
    """A GPU kernel's occupancy; alarming where it spills or cannot be launched."""
    share = kernel.occupancy
    if share is None:
        return None
    if kernel.refused:
        return Fill(share, f"cannot be launched: {kernel.limiter}", alarming=True)
    amounts = {
        "registers": f" ({kernel.registers} a thread)",
        "shared memory": f" ({short_bytes(kernel.shared_bytes)} a block)",
    }
    words = f"{100 * share:.0f} %, {kernel.limiter}{amounts.get(kernel.limiter, '')}"
    if kernel.spilled_bytes:
        words += f", spills {short_bytes(kernel.spilled_bytes)}"
    return Fill(share, words, bool(kernel.spilled_bytes))


def _vmem_fill(kernel: TpuKernelFigures) -> Fill | None:
    """A TPU kernel's share of its VMEM, cut at 1; alarming where it needs more than it gets."""
    if kernel.vmem_bytes is None:
        return None
    share = vmem_share(kernel)
    words = f"{100 * share:.0f} %, {short_bytes(kernel.vmem_bytes)} of {short_bytes(kernel.vmem_limit_bytes)}"
    return Fill(min(share, 1.0), f"{words}, does not fit" if kernel.refused else words, bool(kernel.refused))


class Share(NamedTuple):
    """The texts of a kind of kernel's share, how it is computed, and which bar is the finding."""

    kind: type[AnyKernel]
    fill_of: Callable[[Any], Fill | None]
    name: str
    question: str
    notes: tuple[str, ...]
    finding: tuple[str, Callable[..., ShareBar]]


SHARES = (
    Share(
        KernelFigures,
        _occupancy_fill,
        "occupancy",
        "how much of a multiprocessor do kernels fill, and what allows no more?",
        (
            "occupancy: of a multiprocessor's warps those that its blocks fill; more need not be faster",
            "behind a bar: the resource that allows no more blocks",
        ),
        ("least occupied", min),
    ),
    Share(
        TpuKernelFigures,
        _vmem_fill,
        "VMEM used",
        "how much of the VMEM that they get do kernels take?",
        ("VMEM used: blocks with their second buffers, and scratch, of what a kernel gets of a core's",),
        ("fullest", max),
    ),
)


def _bars(grid: CaseGrid, panel: str, share: Share) -> Iterator[ShareBar]:
    """The bars of a panel; lengths and targets on which a kernel fills the same share one."""
    targets = [target for target in grid.suite.compiled_targets if target != HOST]
    several = len({cell.label for cell in grid.at(panel)}) > 1
    for label in grid.labels:
        cells = grid.at(panel, label)
        lengths_of = collected(
            ((name, fill, target), seq)
            for target in targets
            for seq, name, fill in _fills(cells, target, share)
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


def _fills(cells: Sequence[CaseResult], target: str, share: Share) -> Iterator[tuple[int, str, Fill]]:
    """(length, kernel, fill) where that is known; one entry for a kernel launched alike on several grids."""
    for cell in cells:
        static = static_of(cell.records, target)
        kernels = [kernel for kernel in (static.all_kernels if static else ()) if type(kernel) is share.kind]
        fills = ((kernel.label, fill) for kernel in kernels if (fill := share.fill_of(kernel)))
        yield from ((cell.seq, name, fill) for name, fill in dict.fromkeys(fills))


def _shorten(targets: Sequence[str]) -> str:
    """`cuda:h100, h200`."""
    return ", ".join([targets[0], *(name.partition(":")[2] for name in targets[1:])])


def _finding(place: tuple[Share, str], bars: Sequence[ShareBar]) -> str:
    words, choose = place[0].finding
    found = choose(bars, key=lambda bar: bar.share)
    return f"{words}: {found.name.replace(' · ', ' ')}: {found.words}"
