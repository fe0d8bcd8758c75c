"""A kernel's exact figures, as gates compare them; less is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from harness.analysis.kernel_warnings import idle, slow_path
from harness.catalog.accelerators import target as target_of
from harness.core.kernel_figures import KERNEL_WORDS, TPU_KERNEL_WORDS, KernelFigures
from harness.core.static_figures import AnyKernel

EXACT_WORDS = {**KERNEL_WORDS, **TPU_KERNEL_WORDS}
FASTER, SLOWER = ("wgmma", "tcgen05"), "mma"  # paths of matrix instructions


@dataclass(frozen=True)
class ExactKernel:
    """One kernel in one configuration on one target. `slow_path` and `idle` are warnings."""

    label: str
    figures: Mapping[str, int]
    spilled_at: Mapping[str, int] = field(default_factory=dict[str, int])
    refused: str = ""
    program: str = ""
    matrix_paths: Mapping[str, int] | None = None
    slow_path: str = ""
    idle: str = ""

    @classmethod
    def of(cls, kernel: AnyKernel, target: str) -> ExactKernel:
        known = {name: value for name in EXACT_WORDS if (value := getattr(kernel, name, None)) is not None}
        exact = cls(kernel.label, known, {}, kernel.refused, kernel.program)
        if not isinstance(kernel, KernelFigures):
            return exact
        warned = {"slow_path": slow_path(kernel, target_of(target)), "idle": idle(kernel, target_of(target))}
        return replace(exact, spilled_at=kernel.spilled_at, matrix_paths=kernel.matrix_paths, **warned)

    def lost_path(self, before: ExactKernel) -> str:
        """`uses no …: matrix instructions wgmma 24 -> 0, mma 0 -> 96`; empty where none was lost.

        Fewer instructions of a fast path alone are no loss: they may be larger ones.
        """
        then, now = before.matrix_paths or {}, self.matrix_paths or {}
        fewer = any(now.get(path, 0) < then.get(path, 0) for path in FASTER)
        moved = fewer and now.get(SLOWER, 0) > then.get(SLOWER, 0)
        if not then or not (moved or self.slow_path not in {"", before.slow_path}):
            return ""
        said = self.slow_path.format(s="s") or "moves products to a slower path"
        counts = [f"{path} {then.get(path, 0)} -> {now.get(path, 0)}" for path in {**then, **now}]
        return f"{said}: matrix instructions {', '.join(counts)}"

    @property
    def most_spills(self) -> str:
        """`, most at flash.py:19`; empty without spills."""
        return f", most at {max(self.spilled_at, key=self.spilled_at.__getitem__)}" if self.spilled_at else ""


class KernelPair(NamedTuple):
    """One kernel in one configuration on both sides."""

    target: str
    before: ExactKernel
    now: ExactKernel


def kernel_pairs(
    before: Mapping[str, Sequence[ExactKernel]], now: Mapping[str, Sequence[ExactKernel]]
) -> list[KernelPair]:
    """The kernels that both sides have, by target; those of one label are paired in the order of the call."""
    known = dict(_by_place(before))
    return [KernelPair(at[0], known[at], kernel) for at, kernel in _by_place(now) if at in known]


def _by_place(
    by_target: Mapping[str, Sequence[ExactKernel]],
) -> Iterator[tuple[tuple[str, str, int], ExactKernel]]:
    for target, kernels in by_target.items():
        counts: Counter[str] = Counter()
        for kernel in kernels:
            yield (target, kernel.label, counts[kernel.label]), kernel
            counts[kernel.label] += 1
