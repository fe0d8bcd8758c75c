"""`lists_compact` in jax, with lists of the largest possible width; shows XLA's memory without a table."""

from harness import implementation

from .._stage import in_stage
from .._stage_inputs import width
from ..workload import KERNEL_BLOCK, AttentionWorkload


@implementation(framework="jax", semantics="block_lists")
def lists_jax(w: AttentionWorkload):
    import jax.numpy as jnp

    in_stage(w, "block_lists")
    whole, parts = max(1, KERNEL_BLOCK // w.block), max(1, w.block // KERNEL_BLOCK)

    def lists(picks):
        read = picks // whole
        new = jnp.diff(read, axis=-1, prepend=-1) != 0
        place = jnp.cumsum(new, -1, dtype=jnp.int32)
        blocks = jnp.full((*picks.shape[:-1], width(w) // parts), -1, jnp.int32)
        blocks = jnp.put_along_axis(blocks, place - 1, read, axis=-1, inplace=False)
        blocks = blocks[..., None] * parts + jnp.arange(parts, dtype=jnp.int32)
        return {"blocks": blocks.reshape(*picks.shape[:-1], -1), "counts": place[..., -1] * parts}

    return lists
