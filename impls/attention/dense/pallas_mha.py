"""jax's own FlashAttention for GPUs, unmodified, by Triton: `jax.experimental.pallas.ops.gpu.attention.mha`.

It supports one key head per query head, so key heads of grouped heads are repeated first. Packed sequences
are ids that are compared tile by tile, and skip no work. A causal row of tiles ends at its diagonal.
"""

from harness import Unsupported, implementation, stage

from .._pallas import segments
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="pallas", semantics="dense")
def pallas_mha(w: AttentionWorkload, *, block: int = 128):
    import jax
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.gpu.attention import BlockSizes, mha

    in_stage(w, "attention")
    if w.dtype == "f64":
        raise Unsupported("dtype=f64: its sums are in f32; use dtype=f32, bf16 or f16")
    if block & (block - 1) or block < 16 or w.seq % block:
        raise Unsupported(
            f"blocks of {block} do not tile {w.seq} tokens; use a power of two from 16 on that divides them"
        )
    small = min(block, 32)
    sizes = BlockSizes(block, block, small, small, small, small)

    def attend(q, k, v, cu_seqlens=None):
        ids = None
        if cu_seqlens is not None:
            ids = jnp.broadcast_to(segments(cu_seqlens, w.seq), (w.batch, w.seq))
        k, v = (jnp.repeat(x, w.heads // w.kv_heads, axis=2) for x in (k, v))
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            return mha(q, k, v, ids, w.head_dim**-0.5, w.causal, sizes)

    return attend
