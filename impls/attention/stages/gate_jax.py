"""Gating in one pass, like MSLK #296's fused kernel: XLA reads each branch once."""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="jax", semantics="gate")
def gate_jax(w: AttentionWorkload):
    import jax.numpy as jnp

    in_stage(w, "gate")

    def gate(compressed, selected, window, gates=None):
        wide = jnp.promote_types(compressed.dtype, jnp.float32)
        branches = jnp.stack([compressed, selected, window], 3).astype(wide)
        total = branches.mean(3) if gates is None else (branches * gates.astype(wide)[..., None]).sum(3)
        return total.astype(compressed.dtype)

    return gate
