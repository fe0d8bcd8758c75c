"""Scatter on flattened offsets: write 0 at row · seq + column, one index a write where scatter has three.

Half of scatter's temporaries, but the offset knows no row ends: an index outside [0, seq) opens a
column of a neighbouring row. −1 in the first row wraps to the very last column of the last one, and
what points past the last row is dropped.
"""

from harness import Unsupported, implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def scatter_flat(w: MaskWorkload):
    import jax.numpy as jnp

    size = w.batch * w.rows * w.seq
    if size > 2**31 - 1:
        raise Unsupported(f"{size} offsets do not fit an int32 index; use fewer rows, or scatter")
    value = closed_value(w.dtype)

    def mask(topk_indices):
        first = w.seq * jnp.arange(w.batch * w.rows, dtype=jnp.int32).reshape(w.batch, w.rows, 1)
        shut = jnp.full((size,), value)
        return shut.at[first + topk_indices].set(0).reshape(w.batch, w.rows, w.seq)

    return mask
