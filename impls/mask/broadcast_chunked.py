"""Broadcast in chunks: compare the columns with `chunk` selected indices at a time and OR the results.

It makes all of broadcast's comparisons (MaxText before #4261), but stores at most batch · rows · chunk · seq
of them at once, not batch · rows · topk · seq. Only broadcast's memory is fixed and nothing else, so it is
the fair baseline for time. XLA's figures count the loop's body once. An index outside the row opens nothing.
"""

from harness import Unsupported, implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def broadcast_chunked(w: MaskWorkload, *, chunk: int = 16):
    import jax.numpy as jnp
    from jax import lax

    if not 1 <= chunk <= w.topk:
        raise Unsupported(f"chunk {chunk} is not in the range of topk {w.topk}; use 1 to {w.topk}")
    value = closed_value(w.dtype)
    chunks = -(-w.topk // chunk)

    def mask(topk_indices):
        columns = jnp.arange(w.seq, dtype=jnp.int32)
        filler = ((0, 0), (0, 0), (0, chunks * chunk - w.topk))
        padded = jnp.pad(topk_indices, filler, constant_values=-1)  # −1 equals no column
        steps = jnp.moveaxis(padded.reshape(w.batch, w.rows, chunks, chunk), 2, 0)

        def add(keep, some):
            return keep | (columns == some[..., None]).any(axis=-2), None

        keep, _ = lax.scan(add, jnp.zeros((w.batch, w.rows, w.seq), bool), steps)
        return jnp.where(keep, jnp.zeros((), value.dtype), value)

    return mask
