"""The static figures of a program: what a compiler, or a trace, says of it without running it.

The counts are exact, so that any difference is a change, and less is better.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from harness.core.errors import require_member
from harness.core.kernel_figures import KernelFigures, OnChipOverflow, TpuKernelFigures
from harness.core.peak_owners import Owners
from harness.core.units import format_big, format_bytes, format_ratio

STATIC_FIGURES = (
    "argument_bytes",
    "output_bytes",
    "temp_bytes",
    "alias_bytes",
    "peak_bytes",
    "flops",
    "bytes_accessed",
)
LATER_FIGURES = ("generated_code_bytes", "optimal_s")  # records of earlier versions know nothing of these
ALL_FIGURES = (*STATIC_FIGURES, *LATER_FIGURES)
_figures_of = attrgetter(*ALL_FIGURES)  # all at once, as a stored run has hundreds of thousands of sets
FLOPS_SOURCES = ("compiled", "optimised_module", "matmul_only")
WORDS = {
    "flops": "FLOPs",
    "bytes_accessed": "bytes accessed",
    "temp_bytes": "temp",
    "argument_bytes": "arguments",
    "output_bytes": "outputs",
    "generated_code_bytes": "generated code",
}
EXACT_FIGURES = tuple(WORDS)
AnyKernel = KernelFigures | TpuKernelFigures


@dataclass(frozen=True, slots=True)
class Collective:
    """One kind of transfer between devices."""

    op: str  # the HLO opcode, like `all-gather`
    count: int  # how often a device makes it in one run
    bytes: int  # what a device holds of the results afterwards


@dataclass(frozen=True, slots=True)
class Static:
    """A compiler's static figures of a case for one target. Every figure that is None has its reason.

    All are one device's. Where a program has loops, FLOPs and bytes accessed hold a body times its trip
    count. `program` is None and `opcodes` are empty where the optimised module cannot be read.
    """

    argument_bytes: int | None = None  # bytes of the inputs
    output_bytes: int | None = None  # bytes of the results
    temp_bytes: int | None = None  # bytes of temporaries, at the plan's widest point
    alias_bytes: int | None = None  # bytes of results that take an input's place
    peak_bytes: int | None = None  # bytes live at once, as the compiler itself sums them up
    flops: int | float | None = None  # floating-point operations of one call
    flops_source: str | None = None  # how they were counted: one of FLOPS_SOURCES
    bytes_accessed: int | float | None = None  # bytes read and written by all operators of one call
    program: str | None = None  # `sha256:…` of the optimised module without names and places
    custom_calls: tuple[str, ...] = ()  # kernels that the compiler calls and does not count
    lower_s: float | None = None  # seconds from Python to HLO
    compile_s: float | None = None  # seconds from HLO to the executable
    fits: bool | None = None  # whether the plan fits the target's memory; None where one is not known
    unavailable: Mapping[str, str] = field(default_factory=dict)  # why a figure is None, by its name
    warnings: tuple[str, ...] = ()
    generated_code_bytes: int | None = None  # bytes of machine code
    optimal_s: float | None = None  # XLA's own lower bound in seconds; evidence of no time
    collectives: tuple[Collective, ...] = ()
    body_only: bool = False  # something in a loop may be counted once: a warning says why
    opcodes: Mapping[str, int] = field(default_factory=dict[str, int])  # instructions, each loop body once
    kernels: tuple[KernelFigures, ...] = ()  # that a call launches, where their machine code can be read
    tpu_kernels: tuple[TpuKernelFigures, ...] = ()  # Pallas kernels of a call, in order
    overflow: OnChipOverflow | None = None  # why it does not fit, where that is a core's own memory
    owners: Owners | None = None  # of the planned peak, where they were asked for; else `unavailable` may say

    def __post_init__(self) -> None:
        if self.flops_source is not None:
            require_member("flops_source", self.flops_source, FLOPS_SOURCES)
        unavailable = self.unavailable
        absent = [n for n in LATER_FIGURES if getattr(self, n) is None and n not in unavailable]
        if absent:
            unavailable = {**dict.fromkeys(absent, "not given"), **unavailable}
            object.__setattr__(self, "unavailable", unavailable)
        for name, value in zip(ALL_FIGURES, _figures_of(self), strict=True):
            if value is None:
                if name not in unavailable:
                    raise ValueError(f"{name} is missing without a reason")
            elif not value >= 0:
                raise ValueError(f"{name} is {value}: what is negative or no number stands for unavailable")

    @classmethod
    def none(cls, reason: str) -> "Static":
        """Static figures that are all missing, for one reason."""
        return cls(unavailable=dict.fromkeys((*ALL_FIGURES, "program"), reason))

    @property
    def has_figures(self) -> bool:
        """Whether any figure is known, or that the program does not fit."""
        return self.fits is False or any(getattr(self, name) is not None for name in STATIC_FIGURES)

    @property
    def all_kernels(self) -> tuple[AnyKernel, ...]:
        """The kernels on a GPU, or on a TPU."""
        return (*self.kernels, *self.tpu_kernels)

    @property
    def planned_bytes(self) -> int | None:
        """The memory that the program needs at once: arguments + outputs + temporaries − aliases."""
        if self.argument_bytes is None or self.output_bytes is None or self.temp_bytes is None:
            return None
        return self.argument_bytes + self.output_bytes + self.temp_bytes - (self.alias_bytes or 0)


def change(figure: str, old: float | None, new: float | None) -> str:
    """`temp 4.00 MiB -> 8.00 MiB (2.00×)`; every digit where fewer would show no difference."""
    left, right = _format_figure(figure, old), _format_figure(figure, new)
    if old is None or new is None or left != right:
        ratio = f" ({format_ratio(new / old)})" if old and new is not None else ""
        return f"{WORDS[figure]} {left} -> {right}{ratio}"
    unit = "" if figure == "flops" else " B"
    return f"{WORDS[figure]} {old:.0f}{unit} -> {new:.0f}{unit} ({new - old:+.0f}{unit})"


def _format_figure(figure: str, value: float | None) -> str:
    if value is None:
        return "unavailable"
    return format_big(value) if figure == "flops" else format_bytes(value)
