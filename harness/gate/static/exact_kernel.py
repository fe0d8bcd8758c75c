"""A kernel as a gate compares it and a committed file keeps it: exact figures, of which less is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.core.kernel_figures import KERNEL_WORDS, KernelFigures


@dataclass(frozen=True)
class ExactKernel:
    """One kernel in one configuration on one target. `spilled_at` moves with its lines, and is not kept."""

    label: str
    figures: Mapping[str, int]
    spilled_at: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, kernel: KernelFigures) -> ExactKernel:
        return cls(kernel.label, {name: getattr(kernel, name) for name in KERNEL_WORDS}, kernel.spilled_at)

    @property
    def most_spills(self) -> str:
        """`, most at flash.py:19`, or nothing."""
        return f", most at {max(self.spilled_at, key=self.spilled_at.__getitem__)}" if self.spilled_at else ""
