"""Sortable keys in jax: unsigned integers in the order of the scores (Herf, "Radix Tricks", 2001)."""

from __future__ import annotations

from functools import partial
from typing import Any


def sortable(scores: Any) -> Any:
    """Unsigned keys as wide as the scores. −0 becomes +0 first, so that equal scores have equal keys.

    Subnormals also become +0 if the backend treats them as zero.
    """
    import jax.numpy as jnp
    from jax import lax

    width = scores.dtype.itemsize * 8
    word = jnp.dtype(f"uint{width}")
    bits = lax.bitcast_convert_type(jnp.where(scores == 0, jnp.zeros_like(scores), scores), word)
    sign = jnp.array(1 << (width - 1), word)
    return jnp.where(bits >= sign, ~bits, bits | sign)


def take_above(scores: Any, keys: Any, cutoff: Any, topk: int) -> tuple[Any, Any]:
    """The `topk` entries with keys above `cutoff` [..., 1], filled up with entries equal to it, by column.

    The selected columns are found by a search in the running count of selected ones.
    """
    import jax.numpy as jnp

    above, equal = keys > cutoff, keys == cutoff
    room = topk - above.sum(axis=-1, keepdims=True, dtype=jnp.int32)
    chosen = above | (equal & (jnp.cumsum(equal, axis=-1, dtype=jnp.int32) <= room))
    count = jnp.cumsum(chosen, axis=-1, dtype=jnp.int32)
    places = jnp.arange(1, topk + 1, dtype=jnp.int32)
    search = jnp.vectorize(partial(jnp.searchsorted, v=places), signature="(n)->(k)")
    columns = search(count).astype(jnp.int32)
    return jnp.take_along_axis(scores, columns, axis=-1), columns
