"""From picks to the kernel's blocks: the step that all makers of block lists share.

A repeated pick of a large block is split to 0 1 0 1, which is no longer sorted. Repetitions that are found by
comparing neighbours must therefore be dropped before.
"""

from __future__ import annotations

from typing import Any

from ..workload import KERNEL_BLOCK, AttentionWorkload


def merge_small_blocks(w: AttentionWorkload, picks: Any) -> Any:
    """Blocks of at least 128 tokens that include the picks, in the picks' order; they repeat."""
    return picks // max(1, KERNEL_BLOCK // w.block)


def split_large_blocks(w: AttentionWorkload, blocks: Any) -> Any:
    """Blocks of at least 128 tokens split into the kernel's."""
    import torch

    parts = max(1, w.block // KERNEL_BLOCK)
    each = torch.arange(parts, dtype=blocks.dtype, device=blocks.device)
    return (blocks[..., None] * parts + each).flatten(-2)


def kernel_blocks(w: AttentionWorkload, picks: Any) -> Any:
    """Blocks of 128 tokens of every pick, [b, heads, tiles, n]; they repeat."""
    return split_large_blocks(w, merge_small_blocks(w, picks))
