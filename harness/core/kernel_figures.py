"""The static figures of one kernel: the resources it uses on one target, a GPU or a TPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.core.units import format_bytes

# Exact figures (less is better) → their names in a sentence.
KERNEL_WORDS = {
    "registers": "registers per thread",
    "spilled_bytes": "bytes spilled per thread",
    "shared_bytes": "bytes of shared memory per block",
}
MAY_BE_ABSENT = ("occupancy", "waves", "tail", "tensor_memory_columns", "products")
# Matrix instructions by path, with PTX's names: warp group (HGMMA), Blackwell's tensor memory (UTCHMMA), warp
# (HMMA), and f64 (DMMA), which has only one path.
MATRIX_PATHS = ("wgmma", "tcgen05", "mma", "dmma")
ALL_PATHS = "matrix"  # their sum, in records of earlier versions


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """One kernel of a call in one configuration. An autotuned kernel has one of these per configuration.

    `blocks_per_sm` is the number of its blocks that fit on one multiprocessor, and `limiter` is the resource
    that limits it: `registers`, `shared memory`, `threads` or `blocks`. `waves` is the number of times that
    the grid fills all multiprocessors, and `tail` the empty share of the last wave. If the target cannot
    launch the kernel, `refused` is the reason, and it has 0 blocks and no waves. Figures that are None have
    a reason in `unavailable`.
    """

    kernel: str
    source: str  # `file:line` of its first line
    grid: tuple[int, ...]  # blocks
    warps: int  # of 32 threads, per block
    registers: int  # of 4 bytes, per thread
    spilled_bytes: int  # of local memory, per thread
    shared_bytes: int  # per block, without the part that the system reserves
    tensor_memory_columns: int | None  # per block; 0 on targets without tensor memory
    blocks_per_sm: int
    limiter: str
    waves: float | None
    tail: float | None
    instructions: Mapping[str, int]  # in the code, by class; each loop body once
    code_bytes: int
    program: str  # `sha256:…` of the machine code without its line table
    launches: int = 1  # of this kernel in this configuration and grid, in one call
    configuration: str = ""  # of the autotuner; empty without one
    refused: str = ""
    spilled_at: Mapping[str, int] = field(default_factory=dict[str, int])  # spill instructions by `file:line`
    occupancy: float | None = None  # share of a multiprocessor's warps that its blocks fill, 0 to 1
    products: int | None = None  # matrix products in its source, each loop body once
    overflows: tuple[str, ...] = ()  # pointers with offsets that overflow 32 bits, according to Triton's IR
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
        """Its matrix instructions by path; None if the record has only their sum."""
        if ALL_PATHS in self.instructions:
            return None
        return {path: count for path in MATRIX_PATHS if (count := self.instructions.get(path))}


def by_need(kernel: KernelFigures) -> tuple[int, int]:
    """The key that orders kernels by need: bytes spilled, then registers."""
    return kernel.spilled_bytes, kernel.registers


# Exact figures (less is better) → their names in a sentence.
TPU_KERNEL_WORDS = {"vmem_bytes": "bytes of VMEM"}
LANES = 128  # columns of a vector register; its 8 rows are 32-bit words, which narrower numbers share


@dataclass(frozen=True, slots=True)
class OperandBlock:
    """The block of an operand in one step of the grid."""

    operand: str  # the kernel's name for its reference
    array: tuple[int, ...]
    block: tuple[int, ...]  # 1 for a dimension that the kernel does not see
    dtype: str
    memory: str
    tile: tuple[int, int]  # (sublanes, lanes) for its dtype

    @property
    def aligned(self) -> bool:
        """Whether its last two dimensions are whole tiles; else it is padded in VMEM."""
        rows, columns = (1, *self.block)[-2:] if self.block else (1, 1)
        return rows % self.tile[0] == 0 and columns % self.tile[1] == 0

    @property
    def is_padded(self) -> bool:
        """Whether the block takes more VMEM than its size."""
        return self.memory == "vmem" and not self.aligned


@dataclass(frozen=True, slots=True)
class OnChipOverflow:
    """A kernel that needs more on-chip memory than available; sizes are rounded by its compiler."""

    memory: str  # `vmem` or `smem` of a TPU, `shared memory` of a GPU
    needed_bytes: int
    available_bytes: int
    operand: str = ""  # the largest one, `input 0`; empty if the compiler does not name it
    operand_bytes: int = 0

    def sentence(self, core_bytes: int = 0) -> str:
        """`needs 32 MiB of VMEM, 16 MiB more than available …`; a core has `core_bytes` of it."""
        largest = f" ({self.operand} takes {format_bytes(self.operand_bytes)})" if self.operand else ""
        more = self.memory == "vmem" and self.available_bytes < self.needed_bytes < core_bytes
        remedy = (
            f"smaller blocks, or vmem_limit_bytes up to {format_bytes(core_bytes)}"
            if more
            else "smaller blocks"
        )
        memory = self.memory.upper() if self.memory in {"vmem", "smem"} else self.memory
        needed = f"{format_bytes(self.needed_bytes)} of {memory}"
        missing = format_bytes(self.needed_bytes - self.available_bytes)
        return f"needs {needed}, {missing} more than available{largest}; use {remedy}"


@dataclass(frozen=True, slots=True)
class TpuKernelFigures:
    """One kernel of a call. If it does not fit, `refused` is the reason, and its VMEM is what it needs."""

    kernel: str
    source: str  # `file:line` of its function
    grid: tuple[int, ...]  # -1: known only at run time
    steps: int  # of the grid, one after the other; -1: known only at run time
    vmem_bytes: int | None  # windows with their buffers, and scratch; None if it was not compiled
    vmem_limit_bytes: int  # the compiler's default, or the kernel's own limit
    scratch_bytes: int  # scratch memory in VMEM and SMEM
    semaphores: int
    blocks: tuple[OperandBlock, ...]
    program: str  # `sha256:…` of its body without locations
    author_flops: int | None = None  # floating-point operations, by its author's `cost_estimate`
    calls: int = 1  # of this kernel on this grid in one call; a loop counts once
    refused: str = ""

    @property
    def label(self) -> str:
        return self.kernel


def vmem_share(kernel: TpuKernelFigures) -> float:
    """The share of its VMEM limit that a kernel needs, above 1 if it does not fit; 0 if unknown."""
    return (kernel.vmem_bytes or 0) / kernel.vmem_limit_bytes
