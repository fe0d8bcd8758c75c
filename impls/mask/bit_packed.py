"""Bit-packed: the mask as one bit per column in uint32 words, 1/32 of an f32 mask (semantics `packed`).

Bit j mod 32 of word j // 32 is set if column j is open. There is no scatter with OR, so each index adds its
bit to its word. A duplicate would carry into the next column, so indices are sorted and duplicates add only
once. `unique` skips the sort: right for a true top-k, wrong otherwise. An index outside the row opens
nothing. A reader of the mask must unpack it; that time is not included.
"""

from collections.abc import Mapping
from typing import Any

from harness import implementation

from .reference import WORD
from .workload import MaskWorkload


def fails(_: MaskWorkload, options: Mapping[str, Any]) -> dict[str, str]:
    if not options["unique"]:
        return {}
    return {"duplicates": "unique=true adds every bit, so an index given twice carries into the next column"}


@implementation(framework="jax", semantics="packed", fails=fails)
def bit_packed(w: MaskWorkload, *, unique: bool = False):
    import jax.numpy as jnp

    words = -(-w.seq // WORD)

    def mask(topk_indices):
        batch = jnp.arange(w.batch, dtype=jnp.int32)[:, None, None]
        row = jnp.arange(w.rows, dtype=jnp.int32)[None, :, None]
        if not unique:
            topk_indices = jnp.sort(topk_indices, axis=-1)
        counts = (topk_indices >= 0) & (topk_indices < w.seq)
        if not unique:
            again = topk_indices[..., 1:] == topk_indices[..., :-1]
            counts &= ~jnp.pad(again, ((0, 0), (0, 0), (1, 0)))
        place = jnp.where(counts, topk_indices, 0)
        bit = jnp.left_shift(counts.astype(jnp.uint32), (place % WORD).astype(jnp.uint32))
        empty = jnp.zeros((w.batch, w.rows, words), jnp.uint32)
        return empty.at[batch, row, place // WORD].add(bit)

    return mask
