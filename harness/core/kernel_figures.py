"""The static figures of one kernel: the resources it takes of one target, a GPU or a TPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.core.units import format_bytes

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


# Exact figures (less is better) → their words in a sentence.
TPU_KERNEL_WORDS = {"vmem_bytes": "bytes of VMEM"}
LANES = 128  # a vector register's columns; its 8 rows hold 32-bit words, which narrower numbers share


@dataclass(frozen=True, slots=True)
class OperandBlock:
    """The block of an operand in one step of the grid, in VMEM unless `memory` is another."""

    operand: str  # as the kernel calls its reference
    array: tuple[int, ...]
    block: tuple[int, ...]  # a dimension that the kernel does not see is 1
    dtype: str
    memory: str
    tile: tuple[int, int]  # (sublanes, lanes) that its dtype fills

    @property
    def aligned(self) -> bool:
        """Whether its last two dimensions are whole tiles: else it takes more of VMEM than it holds."""
        rows, columns = (1, *self.block)[-2:] if self.block else (1, 1)
        return rows % self.tile[0] == 0 and columns % self.tile[1] == 0

    @property
    def is_padded(self) -> bool:
        """Whether VMEM holds more than the block."""
        return self.memory == "vmem" and not self.aligned


@dataclass(frozen=True, slots=True)
class OnChipOverflow:
    """A kernel that asks for more of a core's own memory than it gets; sizes as its compiler rounds them."""

    memory: str  # `vmem` or `smem` of a TPU, `shared memory` of a GPU
    needed_bytes: int
    available_bytes: int
    operand: str = ""  # the largest one, `input 0`; empty where the compiler names none
    operand_bytes: int = 0

    def sentence(self, core_bytes: int = 0) -> str:
        """`needs 32 MiB of VMEM, 16 MiB more than it gets …`; `core_bytes` of it has a core in all."""
        largest = f": {self.operand} alone takes {format_bytes(self.operand_bytes)}" if self.operand else ""
        more = self.memory == "vmem" and self.available_bytes < self.needed_bytes < core_bytes
        remedy = (
            f"smaller blocks, or vmem_limit_bytes up to {format_bytes(core_bytes)}"
            if more
            else "smaller blocks"
        )
        memory = self.memory.upper() if self.memory in {"vmem", "smem"} else self.memory
        needed = f"{format_bytes(self.needed_bytes)} of {memory}"
        missing = format_bytes(self.needed_bytes - self.available_bytes)
        return f"needs {needed}, {missing} more than it gets{largest}; use {remedy}"


@dataclass(frozen=True, slots=True)
class TpuKernelFigures:
    """One kernel of a call. Where `refused` says why it does not fit, its VMEM is what it would need."""

    kernel: str
    source: str  # `file:line` of its function
    grid: tuple[int, ...]  # -1: known only when it runs
    steps: int  # of the grid, one after the other; -1 as above
    vmem_bytes: int | None  # windows with their buffers, and scratch; None where it was not compiled
    vmem_limit_bytes: int  # what a kernel gets of it: the compiler's default, or what it asks for
    scratch_bytes: int  # that it asks for in VMEM and SMEM
    semaphores: int
    blocks: tuple[OperandBlock, ...]
    program: str  # `sha256:…` of its body without locations
    author_flops: int | None = None  # floating-point operations, by its author's `cost_estimate`
    calls: int = 1  # of this kernel on this grid in one call; in a loop it counts once
    refused: str = ""

    @property
    def label(self) -> str:
        return self.kernel


def vmem_share(kernel: TpuKernelFigures) -> float:
    """The share of its VMEM limit that a kernel needs, above 1 where it does not fit; 0 where unknown."""
    return (kernel.vmem_bytes or 0) / kernel.vmem_limit_bytes
