"""A chunk of a prompt in jax: `jax.nn.dot_product_attention` of the last tokens' queries with all keys.

XLA's implementation stores the scores of all heads, queries × keys of them.
"""

from harness import implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload
from ._jax_dtypes import refuse_dtype


@implementation(framework="jax", semantics="chunk")
def chunk_jax(w: AttentionWorkload):
    import jax
    import jax.numpy as jnp

    in_stage(w, "chunk")
    refuse_dtype(w, "attention/chunk_sdpa")

    def attend(q, k, v):
        with stage("mask"):
            seen = jnp.tri(w.queries, w.seq, w.seq - w.queries, dtype=bool)
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            return jax.nn.dot_product_attention(q, k, v, mask=seen[None, None])

    return attend
