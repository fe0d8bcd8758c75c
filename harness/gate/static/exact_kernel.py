"""A kernel's exact figures, as gates compare them and the baseline file keeps them; less is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.core.kernel_figures import KERNEL_WORDS, KernelFigures
from harness.core.static_figures import AnyKernel
from harness.core.tpu_kernel_figures import TPU_KERNEL_WORDS

EXACT_WORDS = {**KERNEL_WORDS, **TPU_KERNEL_WORDS}


@dataclass(frozen=True)
class ExactKernel:
    """One kernel in one configuration on one target. The file keeps its label and figures alone.

    The other fields would change without a change of the kernel: `spilled_at` with line numbers, `refused`
    and `program` with the compiler's version.
    """

    label: str
    figures: Mapping[str, int]
    spilled_at: Mapping[str, int] = field(default_factory=dict[str, int])
    refused: str = ""
    program: str = ""

    @classmethod
    def of(cls, kernel: AnyKernel) -> ExactKernel:
        words, spills = TPU_KERNEL_WORDS, {}
        if isinstance(kernel, KernelFigures):
            words, spills = KERNEL_WORDS, kernel.spilled_at
        known = {name: value for name in words if (value := getattr(kernel, name)) is not None}
        return cls(kernel.label, known, spills, kernel.refused, kernel.program)

    @property
    def most_spills(self) -> str:
        """`, most at flash.py:19`; empty without spills."""
        return f", most at {max(self.spilled_at, key=self.spilled_at.__getitem__)}" if self.spilled_at else ""
