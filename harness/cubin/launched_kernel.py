"""A kernel as it is launched: its machine code, its grid and its block, on a multiprocessor of a target."""

from __future__ import annotations

from typing import Any

from harness.catalog.accelerators import CAPABILITIES, Target
from harness.core.kernel_figures import KernelFigures
from harness.cubin.machine_code import MachineCode
from harness.cubin.occupancy import Occupancy, occupancy, on_device

NO_COLUMNS = "how many columns of tensor memory a kernel takes stands nowhere in XLA's executable"


def launched_kernel(
    code: MachineCode,
    wanted: Target,
    *,
    warps: int,
    dynamic_shared_bytes: int,
    tensor_memory_columns: int | None,
    **described: Any,
) -> KernelFigures:
    """The figures of one kernel on a GPU; what no multiprocessor holds is refused in words.

    `described` are the fields that no machine code has: its name, source and grid, and what else is known.
    """
    capability = str(wanted.capability)
    shared = code.static_shared_bytes + dynamic_shared_bytes
    held = occupancy(capability, warps, code.registers, shared)
    alone = KernelFigures(
        **described,
        warps=warps,
        registers=code.registers,
        spilled_bytes=code.spilled_bytes,
        shared_bytes=shared,
        tensor_memory_columns=tensor_memory_columns,
        blocks_per_sm=held.blocks,
        limiter=held.limiter,
        waves=None,
        tail=None,
        instructions=code.by_class(),
        code_bytes=code.code_bytes,
        program=code.program,
        refused="" if held.blocks else _refusal(held, capability, warps, code.registers, shared),
        spilled_at=code.spilled_at,
        occupancy=held.share,
        unavailable={} if tensor_memory_columns is not None else {"tensor_memory_columns": NO_COLUMNS},
    )
    return on_device(alone, wanted)


def _refusal(held: Occupancy, capability: str, warps: int, registers: int, shared_bytes: int) -> str:
    """Why no multiprocessor holds a block."""
    if held.limiter == "shared memory":
        limit = CAPABILITIES[capability].shared_block_bytes
        return f"a block needs {shared_bytes} B of shared memory; capability {capability} gives one {limit} B"
    threads = f"{warps} warps of {registers} registers a thread"
    return f"a block is {threads}, which no multiprocessor of capability {capability} holds"
