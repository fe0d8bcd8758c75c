"""Threshold with exact count: columns above the cutoff, then the first that tie with it (MaxText #4437).

Two running counts along the row replace the indices. For a true top-k the mask is bit for bit that of
scatter. For an approximate selection it is not: the cutoff is then too low, and the last columns of the row
are dropped. A NaN counts towards the selection but is not opened, so the mask has one column fewer.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def threshold_exactk(w: MaskWorkload):
    import jax.numpy as jnp

    value = closed_value(w.dtype)

    def mask(scores, topk_values):
        cutoff = topk_values[..., -1:]
        above, tied = scores > cutoff, scores == cutoff
        above_rank = jnp.cumsum(above, axis=-1, dtype=jnp.int32)
        tied_rank = jnp.cumsum(tied, axis=-1, dtype=jnp.int32)
        # With an approximate selection more than topk columns can be above the cutoff: then no ties fit.
        room = w.topk - jnp.minimum(above_rank[..., -1:], w.topk)
        keep = (above & (above_rank <= w.topk)) | (tied & (tied_rank <= room))
        return jnp.where(keep, jnp.zeros((), value.dtype), value)

    return mask
