"""Streaming multiprocessors of NVIDIA's GPUs, by compute capability.

The limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Multiprocessor(NamedTuple):
    """The limits of one streaming multiprocessor."""

    warps: int
    blocks: int
    shared_bytes: int  # for all blocks together
    shared_block_bytes: int  # for one block, once it has asked for more than 48 KiB


KIB = 1024
CAPABILITIES: Mapping[str, Multiprocessor] = {
    "8.0": Multiprocessor(64, 32, 164 * KIB, 163 * KIB),
    "8.6": Multiprocessor(48, 16, 100 * KIB, 99 * KIB),
    "8.7": Multiprocessor(48, 16, 164 * KIB, 163 * KIB),
    "8.9": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
    "9.0": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "10.0": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "10.3": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "12.0": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
}
