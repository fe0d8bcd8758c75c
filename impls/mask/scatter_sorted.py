"""Scatter in order: sort each row's indices, then write 0 at them with XLA's hint that they ascend.

With this hint XLA need not sort the writes itself (on TPU scatter compiles to a sort), and writes go forward
through memory. The sort is timed here; on a CPU it takes most of the time. The hint is true for any input:
negative indices are not wrapped, which would break it, so indices outside [0, seq) open nothing. `unique`
adds the hint that no row has duplicates, as for a top-k; with duplicates XLA's result is undefined. The form
is MaxText #4261's with the hints of `jax.numpy.ndarray.at`.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def scatter_sorted(w: MaskWorkload, *, unique: bool = False):
    import jax.numpy as jnp

    value = closed_value(w.dtype)

    def mask(topk_indices):
        shut = jnp.full((w.batch, w.rows, w.seq), value)
        batch = jnp.arange(w.batch, dtype=jnp.int32)[:, None, None]
        row = jnp.arange(w.rows, dtype=jnp.int32)[None, :, None]
        # The flag promises XLA sorted (batch, row, column) triples; batch and row ascend by construction.
        return shut.at[batch, row, jnp.sort(topk_indices, axis=-1)].set(
            0, mode="drop", indices_are_sorted=True, unique_indices=unique, wrap_negative_indices=False
        )

    return mask
