"""One-hot matrix product: count the selections of every column by a product of one-hot rows.

A column is `width` · i + j. The one-hot rows of i, transposed, times those of j give how often each (i, j)
was selected. A column is open if that count is above 0; duplicates make it more than 1. A product has 2 ·
rows · topk · seq FLOPs, for matrix units, and stores topk · (seq / width + width) one-hot elements per row.
With `width` ≥ seq there is only one i: the plain sum of one-hot rows, with topk · seq elements. Zeros and
ones are exact in any precision, and so are sums up to topk < 2^24 in f32. An index outside the row opens
nothing. One-hot embedding look-ups on TPU use the same trick.
"""

from harness import Unsupported, implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="exact")
def onehot_gemm(w: MaskWorkload, *, width: int = 256):
    import jax.numpy as jnp

    if width < 1:
        raise Unsupported(f"width={width} has no columns; use at least 1")
    value = closed_value(w.dtype)
    inner = min(width, w.seq)
    outer = -(-w.seq // inner)

    def onehot(places, count):
        return (places[..., None] == jnp.arange(count, dtype=jnp.int32)).astype(jnp.float32)

    def mask(topk_indices):
        i, j = jnp.floor_divide(topk_indices, inner), jnp.remainder(topk_indices, inner)
        counts = jnp.einsum("btki,btkj->btij", onehot(i, outer), onehot(j, inner))
        keep = counts.reshape(w.batch, w.rows, outer * inner)[..., : w.seq] > 0
        return jnp.where(keep, jnp.zeros((), value.dtype), value)

    return mask
