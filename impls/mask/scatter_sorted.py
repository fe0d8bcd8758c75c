"""Scatter in order: sort each row's indices, then write 0 at them, telling XLA that they ascend.

A write that knows its order needs no sort of its own (on TPU scatter compiles to one) and walks
memory forward. The sort is timed here; on a CPU it takes most of the time. The claim holds for any
input: negative indices are not wrapped, which would break it, so whatever lies outside [0, seq) opens
nothing. `unique` adds the claim that no row holds an index twice, as a top-k never does; where one
does, XLA promises no result. The form is MaxText #4261's with the hints of `jax.numpy.ndarray.at`.
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
        # What XLA is told to be sorted is (batch, row, column) as
        # a whole; the first two ascend as they are made.
        return shut.at[batch, row, jnp.sort(topk_indices, axis=-1)].set(
            0, mode="drop", indices_are_sorted=True, unique_indices=unique, wrap_negative_indices=False
        )

    return mask
