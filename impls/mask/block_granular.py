"""Block-granular: which blocks of 128 columns have a selected one, and a boolean mask inside each.

This is the input of block-sparse kernels: FlexAttention's `BlockMask` (arXiv 2412.05496) lets a kernel skip
an empty block and look inside the others. Here a block is one query by 128 columns. FlexAttention's blocks
join many queries, so fewer can be skipped. Booleans are a quarter of an f32 mask. It pays if the selection
clusters: 2048 of 131072 columns drawn at random leave 14 % of the 1024 blocks empty. An index outside the row
opens nothing.
"""

from harness import implementation

from .reference import BLOCK
from .workload import MaskWorkload


@implementation(framework="jax", semantics="blocks")
def block_granular(w: MaskWorkload):
    import jax.numpy as jnp

    blocks = -(-w.seq // BLOCK)

    def mask(topk_indices):
        batch = jnp.arange(w.batch, dtype=jnp.int32)[:, None, None]
        row = jnp.arange(w.rows, dtype=jnp.int32)[None, :, None]
        valid = (topk_indices >= 0) & (topk_indices < w.seq)
        column = jnp.where(valid, topk_indices, blocks * BLOCK)  # past the end: dropped
        inside = jnp.zeros((w.batch, w.rows, blocks * BLOCK), bool)
        inside = inside.at[batch, row, column].set(True, mode="drop")
        held = jnp.zeros((w.batch, w.rows, blocks), bool)
        held = held.at[batch, row, column // BLOCK].set(True, mode="drop")
        return {"held": held, "inside": inside.reshape(w.batch, w.rows, blocks, BLOCK)}

    return mask
