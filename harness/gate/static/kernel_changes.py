"""Changes of a case's kernels between two sides: their exact figures, of which less is better."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.analysis.kernel_warnings import idle, slow_path
from harness.catalog.accelerators import target as target_of
from harness.core.kernel_figures import KERNEL_WORDS, TPU_KERNEL_WORDS, KernelFigures
from harness.core.static_figures import AnyKernel

EXACT_WORDS = {**KERNEL_WORDS, **TPU_KERNEL_WORDS}
FASTER, SLOWER = ("wgmma", "tcgen05"), "mma"  # paths of matrix instructions

Kernels = Mapping[str, Sequence[AnyKernel]]  # by target


class KernelPair(NamedTuple):
    """One kernel in one configuration on both sides."""

    target: str
    before: AnyKernel
    now: AnyKernel

    def __str__(self) -> str:
        return f"{self.target}: {self.now.label}"


def kernel_pairs(before: Kernels, now: Kernels) -> list[KernelPair]:
    """The kernels that both sides have, by target; those of one label are paired in the order of the call."""
    known = dict(_by_place(before))
    return [KernelPair(at[0], known[at], kernel) for at, kernel in _by_place(now) if at in known]


def _by_place(by_target: Kernels) -> Iterator[tuple[tuple[str, str, int], AnyKernel]]:
    for target, kernels in by_target.items():
        counts: Counter[str] = Counter()
        for kernel in kernels:
            yield (target, kernel.label, counts[kernel.label]), kernel
            counts[kernel.label] += 1


def kernel_changes(pairs: Sequence[KernelPair]) -> list[tuple[bool, str]]:
    """(whether it is worse, `cuda:h100: attn: bytes spilled a thread 0 -> 1080, most at flash.py:19`)."""
    changes: list[tuple[bool, str]] = []
    for pair in pairs:
        for name, words in EXACT_WORDS.items():
            old, new = getattr(pair.before, name, None), getattr(pair.now, name, None)
            if old is not None and new is not None and old != new:
                place = _most_spills(pair.now) if name == "spilled_bytes" and new > old else ""
                changes.append((new > old, f"{pair}: {words} {old} -> {new}{place}"))
        if lost := _lost_path(pair):
            changes.append((True, f"{pair} {lost}"))
        if pair.now.refused and not pair.before.refused:
            changes.append((True, f"{pair} cannot be launched any more: {pair.now.refused}"))
    return changes


def _most_spills(kernel: AnyKernel) -> str:
    """`, most at flash.py:19`; empty where no line is known."""
    places = kernel.spilled_at if isinstance(kernel, KernelFigures) else {}
    return f", most at {max(places, key=places.__getitem__)}" if places else ""


def _lost_path(pair: KernelPair) -> str:
    """`uses no …: matrix instructions wgmma 24 -> 0, mma 0 -> 96`; empty where none was lost.

    Fewer instructions of a fast path alone are no loss: they may be larger ones.
    """
    _, before, now = pair
    if not (isinstance(before, KernelFigures) and isinstance(now, KernelFigures) and before.matrix_paths):
        return ""
    old, new = before.matrix_paths, now.matrix_paths or {}
    fewer = any(new.get(path, 0) < old.get(path, 0) for path in FASTER)
    moved = fewer and new.get(SLOWER, 0) > old.get(SLOWER, 0)
    slow = slow_path(now, target_of(pair.target))
    if not moved and slow in {"", slow_path(before, target_of(pair.target))}:
        return ""
    said = slow.format(s="s") or "moves products to a slower path"
    counts = [f"{path} {old.get(path, 0)} -> {new.get(path, 0)}" for path in {**old, **new}]
    return f"{said}: matrix instructions {', '.join(counts)}"


def newly_idle(pairs: Sequence[KernelPair]) -> list[str]:
    """Notes on grids that became too small for the GPU."""
    notes: list[str] = []
    for pair in pairs:
        if isinstance(pair.before, KernelFigures) and isinstance(pair.now, KernelFigures):
            gpu = target_of(pair.target)
            if (why := idle(pair.now, gpu)) and not idle(pair.before, gpu):
                notes.append(f"{pair} {why.format(s='s')}, and did not before")
    return notes
