"""Dense in jax: `jax.nn.dot_product_attention` with grouped heads and causal mask.

XLA's implementation stores all scores and a mask of seq × seq, so its memory grows as N² while `dense` needs
O(N): at 16Ki tokens and 8 heads the scores alone are 8 GiB in f32. Packed sequences are one more mask and
skip no work.
"""

from harness import implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload
from ._jax_dtypes import refuse_dtype


@implementation(framework="jax", semantics="dense")
def dense_jax(w: AttentionWorkload):
    import jax
    import jax.numpy as jnp

    in_stage(w, "attention")
    refuse_dtype(w, "attention/dense")

    def attend(q, k, v, cu_seqlens=None):
        same = None
        if cu_seqlens is not None:
            with stage("mask"):
                segment = jnp.searchsorted(cu_seqlens[1:], jnp.arange(w.seq), side="right")
                same = (segment[:, None] == segment)[None, None]
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            return jax.nn.dot_product_attention(q, k, v, mask=same, is_causal=w.causal)

    return attend
