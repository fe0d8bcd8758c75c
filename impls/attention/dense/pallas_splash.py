"""jax's splash attention for TPUs, unmodified: blocks that the mask hides are not in the grid.

The mask is computed when the kernel is built, on the host, block by block: 20 s at 64Ki in jax's own blocks
of 128, so they are wider here. Grouped heads share their keys. The kernel does not scale scores: queries are
scaled before, and rounded to their dtype.
"""

from typing import Any

from harness import implementation, stage

from .._pallas import refuse, segments, splash_blocks
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="pallas", semantics="dense")
def pallas_splash(w: AttentionWorkload, *, block: int = 512):
    import jax
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    in_stage(w, "attention")
    refuse(w)
    blocks = splash.BlockSizes(**splash_blocks(w, block))
    mask = (masks.CausalMask if w.causal else masks.FullMask)((w.seq, w.seq))
    every = masks.MultiHeadMask([mask] * w.heads)
    kernel = splash.make_splash_mha_single_device(every, block_sizes=blocks)

    def attend(q, k, v, cu_seqlens=None):
        row = None if cu_seqlens is None else segments(cu_seqlens, w.seq)
        ids = None if row is None else splash.SegmentIds(row, row)
        q, k, v = (x.swapaxes(1, 2) for x in (q * w.head_dim**-0.5, k, v))
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            result: Any = jax.vmap(kernel, (0, 0, 0, None))(q, k, v, ids)
        return result.swapaxes(1, 2)

    return attend
