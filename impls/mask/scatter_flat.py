"""Scatter on flattened offsets: write 0 at row · seq + column, with one index per write instead of three.

Half of scatter's temporaries, but the offset ignores row ends: an index outside [0, seq) opens a column of a
neighbouring row. −1 in the first row wraps to the last column of the last row. Offsets past the last row are
dropped.
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
