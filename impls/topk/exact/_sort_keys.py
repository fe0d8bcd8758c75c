"""Sortable keys in jax: unsigned integers that order as the scores do (Herf, "Radix Tricks", 2001)."""

from __future__ import annotations

from functools import partial
from typing import Any


def sortable(scores: Any) -> Any:
    """Unsigned keys of the scores' own width. −0 is made +0 first, so that equal scores have equal keys.

    So is a subnormal, where the backend takes it for zero.
    """
    import jax.numpy as jnp
    from jax import lax

    width = scores.dtype.itemsize * 8
    word = jnp.dtype(f"uint{width}")
    bits = lax.bitcast_convert_type(jnp.where(scores == 0, jnp.zeros_like(scores), scores), word)
    sign = jnp.array(1 << (width - 1), word)
    return jnp.where(bits >= sign, ~bits, bits | sign)


def take_above(scores: Any, keys: Any, cutoff: Any, topk: int) -> tuple[Any, Any]:
    """The `topk` entries whose key is above `cutoff` [..., 1], filled up by those at it, in column order.

    The columns of the selection are found by searching the running count of selected ones.
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
