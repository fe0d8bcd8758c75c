"""A chunk of a prompt in jax: `jax.nn.dot_product_attention` of the last tokens' queries on all keys.

XLA's implementation stores the scores of all heads, queries × keys of them.
"""

from harness import Unsupported, implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="jax", semantics="chunk")
def chunk_jax(w: AttentionWorkload):
    import jax
    import jax.numpy as jnp

    in_stage(w, "chunk")
    if w.dtype in {"f64", "f16"}:
        raise Unsupported(f"dtype={w.dtype}: use dtype=f32, dtype=bf16 or attention/chunk_sdpa")

    def attend(q, k, v):
        with stage("mask"):
            seen = jnp.tri(w.queries, w.seq, w.seq - w.queries, dtype=bool)
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            return jax.nn.dot_product_attention(q, k, v, mask=seen[None, None])

    return attend
