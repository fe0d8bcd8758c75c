"""Broadcast: compare every column with every selected index and OR over the selection.

MaxText's indexer did this before #4261. The comparison has batch · rows · topk · seq elements; a compiler
that does not fuse the OR into it (XLA on CPU) stores them all at once. An index outside the row equals no
column and opens nothing.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def broadcast(w: MaskWorkload):
    import jax.numpy as jnp

    value = closed_value(w.dtype)

    def mask(topk_indices):
        columns = jnp.arange(w.seq, dtype=jnp.int32)
        keep = (columns == topk_indices[..., None]).any(axis=-2)
        return jnp.where(keep, jnp.zeros((), value.dtype), value)

    return mask
