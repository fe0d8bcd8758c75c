"""Threshold with exact count: columns above the cutoff, then the first that tie with it (MaxText #4437).

Two running counts along the row replace the indices. On a true top-k this is scatter's mask bit
for bit. It is not when the selection was approximate: the cutoff is then too low, and the last
columns of the row are dropped. A NaN takes a place in the selection and none in the mask, which
keeps one column fewer.
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
        # Of an approximate selection more than topk lie above the
        # cutoff: then nothing that ties with it fits.
        room = w.topk - jnp.minimum(above_rank[..., -1:], w.topk)
        keep = (above & (above_rank <= w.topk)) | (tied & (tied_rank <= room))
        return jnp.where(keep, jnp.zeros((), value.dtype), value)

    return mask
