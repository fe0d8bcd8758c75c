"""The static figures of one GPU kernel: the resources that its machine code takes on one target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Exact figures (less is better) → their words in a sentence.
KERNEL_WORDS = {
    "registers": "registers a thread",
    "spilled_bytes": "bytes spilled a thread",
    "shared_bytes": "bytes of shared memory a block",
}
MAY_BE_ABSENT = ("occupancy", "waves", "tail", "tensor_memory_columns", "products")
# Matrix instructions by path, as PTX names them: a warp group's (HGMMA), Blackwell's own (UTCHMMA), a warp's
# (HMMA), and those of f64 (DMMA), which has one path.
MATRIX_PATHS = ("wgmma", "tcgen05", "mma", "dmma")
ALL_PATHS = "matrix"  # their sum, in records of earlier versions


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """One kernel of a call in one configuration. An autotuned kernel has one of these per configuration.

    `blocks_per_sm` is how many of its blocks one multiprocessor holds at once, and `limiter` what keeps it
    from holding more: `registers`, `shared memory`, `threads` or `blocks`. `waves` is how often all
    multiprocessors are filled by the grid, and `tail` the share of the last wave that stays empty. Where
    `refused` says why the target cannot launch it, there are 0 blocks and no waves. What is None has its
    reason in `unavailable`.
    """

    kernel: str
    source: str  # `file:line` of its first line
    grid: tuple[int, ...]  # blocks
    warps: int  # of 32 threads, in a block
    registers: int  # of 4 bytes, a thread
    spilled_bytes: int  # of local memory, a thread
    shared_bytes: int  # a block's, without what the system reserves
    tensor_memory_columns: int | None  # a block's; 0 where the target has none
    blocks_per_sm: int
    limiter: str
    waves: float | None
    tail: float | None
    instructions: Mapping[str, int]  # in the code, by class; each loop body once
    code_bytes: int
    program: str  # `sha256:…` of the machine code without its line table
    launches: int = 1  # of this kernel in this configuration and grid, in one call
    configuration: str = ""  # the autotuner's; empty where there is none
    refused: str = ""
    spilled_at: Mapping[str, int] = field(default_factory=dict[str, int])  # spill instructions by `file:line`
    occupancy: float | None = None  # share of a multiprocessor's warps that its blocks fill, 0 to 1
    products: int | None = None  # matrix products in its source, each loop body once
    overflows: tuple[str, ...] = ()  # pointers whose offsets overflow 32 bits, as far as Triton's IR shows
    unavailable: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # why a figure is None, by its name

    def __post_init__(self) -> None:
        absent = [name for name in MAY_BE_ABSENT if getattr(self, name) is None]
        if absent:  # from records of earlier versions
            object.__setattr__(
                self, "unavailable", {**dict.fromkeys(absent, "not given"), **self.unavailable}
            )

    @property
    def label(self) -> str:
        return f"{self.kernel} ({self.configuration})" if self.configuration else self.kernel

    @property
    def matrix_paths(self) -> dict[str, int] | None:
        """Its matrix instructions by path; None where the record knows their sum alone."""
        if ALL_PATHS in self.instructions:
            return None
        return {path: count for path in MATRIX_PATHS if (count := self.instructions.get(path))}


def by_need(kernel: KernelFigures) -> tuple[int, int]:
    """The key that orders kernels by need: bytes spilled, then registers."""
    return kernel.spilled_bytes, kernel.registers
