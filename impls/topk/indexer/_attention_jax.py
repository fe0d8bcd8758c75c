"""Attention with the mask of a selection, in jax: one mask for all heads, then one head at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from ..workload import TopkWorkload

CLOSED = -0.7 * float.fromhex("0x1.fffffep127")  # MaxText's: twice of it is −inf, but once is not
Mask = Literal["scatter", "broadcast"]


def masked_attention(w: TopkWorkload, mask: Mask) -> Callable[..., Any]:
    """`attend(columns, q, k, v)`: softmax over all columns, with a mask that closes columns not selected.

    The mask is [batch, rows, seq] in f32, by `mask/scatter` or by `mask/broadcast`. Logits of all heads at
    once would be `attention_heads` times as large, so a loop computes one head at a time.
    """
    import jax
    import jax.numpy as jnp
    from jax import lax

    def scattered(columns):
        batch = jnp.arange(w.batch, dtype=jnp.int32)[:, None, None]
        row = jnp.arange(w.rows, dtype=jnp.int32)[None, :, None]
        shut = jnp.full((w.batch, w.rows, w.seq), CLOSED, jnp.float32)
        return shut.at[batch, row, columns].set(0)

    def compared(columns):
        keep = (jnp.arange(w.seq, dtype=jnp.int32) == columns[..., None]).any(axis=-2)
        return jnp.where(keep, jnp.float32(0), jnp.float32(CLOSED))

    def attend(columns, q, k, v):
        wide = jnp.promote_types(q.dtype, jnp.float32)
        product = partial(jnp.einsum, precision="highest", preferred_element_type=wide)
        closed = (scattered if mask == "scatter" else compared)(columns)

        def head(place):
            # Sliced in the loop: moving the head axis to the front before it copied all keys and values in
            # every iteration.
            query, keys, values = (lax.dynamic_index_in_dim(x, place, 2, keepdims=False) for x in (q, k, v))
            logits = product("brd,bsd->brs", query, keys) / math.sqrt(w.key_dim)
            weights = jax.nn.softmax(logits + closed, axis=-1)
            return product("brs,bsd->brd", weights, values).astype(values.dtype)

        return jnp.moveaxis(lax.map(head, jnp.arange(w.attention_heads)), 0, 2)

    return attend
