"""Block means of keys and values in one XLA program, like MSLK #296's fused kernel in one launch."""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="jax", semantics="compress")
def compress_jax(w: AttentionWorkload):
    import jax.numpy as jnp

    in_stage(w, "compress")

    def mean(x):
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        return wide.reshape(w.batch, -1, w.block, *x.shape[2:]).mean(2).astype(x.dtype)

    def compress(k, v):
        return {"keys": mean(k), "values": mean(v)}

    return compress
