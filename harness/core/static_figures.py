"""The static figures of a program, from a compiler or a trace, without running it.

The counts are exact, so any difference is a change; less is better.
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
LATER_FIGURES = ("generated_code_bytes", "optimal_s")  # missing in records of earlier versions
ALL_FIGURES = (*STATIC_FIGURES, *LATER_FIGURES)
_figures_of = attrgetter(*ALL_FIGURES)  # fast, because a stored run has hundreds of thousands of sets
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
    count: int  # per device in one run
    bytes: int  # of the results on one device


@dataclass(frozen=True, slots=True)
class Static:
    """A compiler's static figures of a case for one target. Every figure that is None has a reason.

    All figures are for one device. FLOPs and bytes accessed count a loop body times its trip count. `program`
    is None and `opcodes` is empty if the optimised module cannot be read.
    """

    argument_bytes: int | None = None  # bytes of the inputs
    output_bytes: int | None = None  # bytes of the results
    temp_bytes: int | None = None  # bytes of temporaries, at the peak of the plan
    alias_bytes: int | None = None  # bytes of results that replace an input
    peak_bytes: int | None = None  # peak of live bytes, according to the compiler
    flops: int | float | None = None  # floating-point operations of one call
    flops_source: str | None = None  # how they were counted: one of FLOPS_SOURCES
    bytes_accessed: int | float | None = None  # bytes read and written by all operators of one call
    program: str | None = None  # `sha256:…` of the optimised module without names and places
    custom_calls: tuple[str, ...] = ()  # kernels that the compiler calls, but does not count
    lower_s: float | None = None  # seconds from Python to HLO
    compile_s: float | None = None  # seconds from HLO to the executable
    fits: bool | None = None  # whether the plan fits the target's memory; None if unknown
    unavailable: Mapping[str, str] = field(default_factory=dict)  # why a figure is None, by its name
    warnings: tuple[str, ...] = ()
    generated_code_bytes: int | None = None  # bytes of machine code
    optimal_s: float | None = None  # XLA's lower bound in seconds, which is not a measured time
    collectives: tuple[Collective, ...] = ()
    body_only: bool = False  # a loop may be counted once; a warning has the reason
    opcodes: Mapping[str, int] = field(default_factory=dict[str, int])  # instructions, each loop body once
    kernels: tuple[KernelFigures, ...] = ()  # that a call launches, if their machine code can be read
    tpu_kernels: tuple[TpuKernelFigures, ...] = ()  # Pallas kernels of a call, in order
    overflow: OnChipOverflow | None = None  # why it does not fit, if on-chip memory is too small
    owners: Owners | None = None  # of the planned peak, if requested; else `unavailable` may have a reason

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
                raise ValueError(f"{name} is {value}, but must be a number ≥ 0, or None")

    @classmethod
    def none(cls, reason: str) -> "Static":
        """Static figures that are all missing for one reason."""
        return cls(unavailable=dict.fromkeys((*ALL_FIGURES, "program"), reason))

    @property
    def has_figures(self) -> bool:
        """Whether any figure is known; that the program does not fit counts as a figure."""
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
    """`temp 4.00 MiB -> 8.00 MiB (2.00×)`; with all digits if rounding would hide the difference."""
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
