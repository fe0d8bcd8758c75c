"""Occupancy: how many blocks of a kernel one multiprocessor holds at once, and what keeps it from more.

The units of allocation are those of the occupancy calculator that comes with CUDA (`cuda_occupancy.h`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from harness.catalog.accelerators import CAPABILITIES, Multiprocessor, Target
from harness.core.kernel_figures import KernelFigures

THREADS_PER_WARP = 32
PARTITIONS = 4  # of a multiprocessor; a warp lies in one of them
REGISTER_UNIT = 256  # of a warp's registers
REGISTERS_PER_SM = 65_536
SHARED_UNIT = 128  # bytes
WAVES = ("waves", "tail")  # what a device's number of multiprocessors decides
RESERVED_SHARED = 1024  # bytes of every block, for the system; from capability 8.0 on


class Occupancy(NamedTuple):
    """Blocks on one multiprocessor, the resource that runs out first, and the share of its warps in them."""

    blocks: int
    limiter: str  # registers, shared memory, threads or blocks
    share: float  # 0 to 1


def occupancy(capability: str, warps: int, registers: int, shared_bytes: int) -> Occupancy:
    """The occupancy by blocks of so many `warps`, `registers` a thread and `shared_bytes`, none reserved.

    0 blocks where a single one does not fit. KeyError for an unknown capability.
    """
    sm = CAPABILITIES[capability]
    by_limiter = {
        "threads": sm.warps // warps,
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared(sm, shared_bytes),
        "blocks": sm.blocks,
    }
    limiter = min(by_limiter, key=lambda name: by_limiter[name])
    blocks = by_limiter[limiter]
    return Occupancy(blocks, limiter, blocks * warps / sm.warps)


def _by_registers(warps: int, registers: int) -> int:
    """Blocks by registers: each partition of a multiprocessor holds whole warps in its quarter of them."""
    a_warp = _round_up(registers * THREADS_PER_WARP, REGISTER_UNIT)
    if a_warp == 0:
        return REGISTERS_PER_SM
    warps_on_sm = REGISTERS_PER_SM // PARTITIONS // a_warp * PARTITIONS
    return warps_on_sm // warps


def _by_shared(sm: Multiprocessor, shared_bytes: int) -> int:
    if shared_bytes > sm.shared_block_bytes:
        return 0
    return sm.shared_bytes // _round_up(shared_bytes + RESERVED_SHARED, SHARED_UNIT)


def on_device(kernel: KernelFigures, gpu: Target) -> KernelFigures:
    """The kernel with what the GPU's number of multiprocessors adds: its waves, and the tail of the last."""
    why = kernel.refused
    given = {name: reason for name, reason in kernel.unavailable.items() if name not in WAVES}
    if gpu.accelerator is None:
        why = why or f"how many multiprocessors a GPU has is not known of {gpu.name}"
    elif not why:
        filled, tail = waves(kernel.grid, kernel.blocks_per_sm, gpu.accelerator.gpu["core_count"])
        return replace(kernel, waves=filled, tail=tail, unavailable=given)
    return replace(kernel, waves=None, tail=None, unavailable={**given, **dict.fromkeys(WAVES, why)})


def waves(grid: tuple[int, ...], blocks_per_sm: int, multiprocessors: int) -> tuple[float, float]:
    """(how often the grid fills all multiprocessors, share of the last wave that stays empty)."""
    filled = math.prod(grid) / (blocks_per_sm * multiprocessors)
    return filled, math.ceil(filled) - filled


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
