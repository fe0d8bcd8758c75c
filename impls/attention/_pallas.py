"""Shared code of jax's attention kernels for TPUs: supported workloads, and ids of packed sequences."""

from __future__ import annotations

from typing import Any

from harness import Unsupported

from .workload import AttentionWorkload

WIDTH = 128  # lanes of a register, and the least block of keys
SPLASH_BLOCKS = ("block_q", "block_kv", "block_q_dkv", "block_kv_dkv", "block_q_dq", "block_kv_dq")


def refuse(w: AttentionWorkload) -> None:
    """Raise Unsupported for a workload that the kernels do not support."""
    if w.dtype in {"f64", "f16"}:
        raise Unsupported(f"dtype={w.dtype}: a TPU multiplies only bf16 and f32; use one, or attention/dense")
    if w.seq % WIDTH:
        raise Unsupported(
            f"seq {w.seq}: blocks of {WIDTH} keys must divide it; use a multiple, or attention/dense"
        )
    if w.head_dim > WIDTH and w.head_dim % WIDTH:
        raise Unsupported(
            f"head_dim {w.head_dim}: beyond {WIDTH} a head is whole registers; use a multiple of {WIDTH}"
        )


def segments(cu_seqlens: Any, seq: int) -> Any:
    """The packed sequence of each token."""
    import jax.numpy as jnp

    return jnp.searchsorted(cu_seqlens[1:], jnp.arange(seq, dtype=jnp.int32), side="right").astype(jnp.int32)


def splash_blocks(w: AttentionWorkload, block: int) -> dict[str, Any]:
    """Splash attention's blocks, forward and backward: as wide as requested, or as divides the tokens."""
    if block < WIDTH or block % WIDTH:
        raise Unsupported(f"block={block} is not a multiple of the {WIDTH} lanes; use a multiple")
    width = next(size for size in (block, 2 * WIDTH, WIDTH) if w.seq % size == 0)
    return dict.fromkeys(SPLASH_BLOCKS, width)
