"""The kernels that two sides launch under one name, side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.core.kernel_figures import KernelFigures

ByTarget = Mapping[str, Sequence[KernelFigures]]


class KernelPair(NamedTuple):
    """One kernel in one configuration on both sides."""

    target: str
    before: KernelFigures
    now: KernelFigures


def kernel_pairs(before: ByTarget, now: ByTarget) -> list[KernelPair]:
    """Those that both sides have on a target; of one name in one configuration the n-th is the n-th."""
    known = {(target, *place): kernel for target, place, kernel in _places(before)}
    return [
        KernelPair(target, known[target, *place], kernel)
        for target, place, kernel in _places(now)
        if (target, *place) in known
    ]


def _places(by_target: ByTarget) -> Iterator[tuple[str, tuple[str, int], KernelFigures]]:
    for target, kernels in by_target.items():
        counts: Counter[str] = Counter()
        for kernel in kernels:
            yield target, (kernel.label, counts[kernel.label]), kernel
            counts[kernel.label] += 1
