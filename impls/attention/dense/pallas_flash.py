"""jax's own FlashAttention for TPUs, unmodified: `jax.experimental.pallas.ops.tpu.flash_attention`.

It supports one key head per query head, so key heads of grouped heads are repeated first. Packed sequences
are ids that are compared tile by tile, and skip no work. By default its blocks are 128 wide and divide the
keys.
"""

from harness import implementation, stage

from .._pallas import refuse, segments
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="pallas", semantics="dense")
def pallas_flash(w: AttentionWorkload):
    import jax
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.tpu.flash_attention import SegmentIds, flash_attention

    in_stage(w, "attention")
    refuse(w)

    def attend(q, k, v, cu_seqlens=None):
        ids = None
        if cu_seqlens is not None:
            row = jnp.broadcast_to(segments(cu_seqlens, w.seq), (w.batch, w.seq))
            ids = SegmentIds(row, row)
        k, v = (jnp.repeat(x, w.heads // w.kv_heads, axis=2) for x in (k, v))
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            result = flash_attention(q, k, v, segment_ids=ids, causal=w.causal, sm_scale=w.head_dim**-0.5)
        return result.swapaxes(1, 2)

    return attend
