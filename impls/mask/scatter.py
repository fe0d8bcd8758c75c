"""Scatter: start with every column closed and write 0 at the selected ones (MaxText #4261).

Writes each column once and each selected one once more. A negative index counts from the row's end: −1 opens
the last column, while a comparison (broadcast) would open none. Indices below −seq and from seq on are
dropped.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def scatter(w: MaskWorkload):
    import jax.numpy as jnp

    value = closed_value(w.dtype)

    def mask(topk_indices):
        shut = jnp.full((w.batch, w.rows, w.seq), value)
        batch = jnp.arange(w.batch, dtype=jnp.int32)[:, None, None]
        row = jnp.arange(w.rows, dtype=jnp.int32)[None, :, None]
        return shut.at[batch, row, topk_indices].set(0)

    return mask
