"""The kernels that two sides launch under one name, side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar


class Labelled(Protocol):
    """A kernel in one configuration of its autotuner, which its label names."""

    @property
    def label(self) -> str: ...


Kernel = TypeVar("Kernel", bound=Labelled)


class KernelPair(NamedTuple, Generic[Kernel]):
    """One kernel in one configuration on both sides."""

    target: str
    before: Kernel
    now: Kernel


def kernel_pairs(
    before: Mapping[str, Sequence[Kernel]], now: Mapping[str, Sequence[Kernel]]
) -> list[KernelPair[Kernel]]:
    """The kernels that both sides have, by target; those of one label are paired in the order of the call."""
    known = dict(_by_place(before))
    return [KernelPair(at[0], known[at], kernel) for at, kernel in _by_place(now) if at in known]


def _by_place(by_target: Mapping[str, Sequence[Kernel]]) -> Iterator[tuple[tuple[str, str, int], Kernel]]:
    for target, kernels in by_target.items():
        counts: Counter[str] = Counter()
        for kernel in kernels:
            yield (target, kernel.label, counts[kernel.label]), kernel
            counts[kernel.label] += 1
