"""Attention over packed rows (THD), in jax: a segment is known only by its start and length.

Ids and positions are not read. A token belongs to the segment whose `length` tokens from `start` include it,
and the mask compares indices within the segment. Therefore tokens without a partner must be dropped. The n-th
start of a side belongs to its n-th length above 0, and the n-th segment of the queries attends to the n-th of
the keys, as TransformerEngine passes both to cuDNN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from .workload import OffsetsWorkload

Part = tuple[Any, Any, Any]


def attend_segments(w: OffsetsWorkload, found: Any, q: Any, k: Any, v: Any) -> Part:
    """(sum of e^logit · v, largest logit, sum of e^logit) over the keys of every token's segment.

    The shapes are [batch, heads, queries, d] and twice [batch, heads, queries]; `found` has both sides'
    lengths and offsets.
    """
    import jax.numpy as jnp

    q_lengths, kv_lengths, q_offsets, kv_offsets = found
    segment_q, place_q, length_q = _places(q_lengths, q_offsets, q.shape[1])
    segment_kv, place_kv, length_kv = _places(kv_lengths, kv_offsets, k.shape[1])
    query, key = place_q[:, :, None], place_kv[:, None, :]
    if w.kind == "bottom_right":  # the last query sees the last key
        query, key = query - length_q[:, :, None], key - length_kv[:, None, :]
    visible = (segment_q[:, :, None] == segment_kv[:, None, :]) & (segment_q[:, :, None] >= 0)
    if w.kind != "padding":
        visible &= query >= key
    if w.kind == "sliding":
        visible &= query - key < w.window
    wide = jnp.promote_types(q.dtype, jnp.float32)
    product = partial(jnp.einsum, precision="highest", preferred_element_type=wide)
    logits = product("bqhd,bkhd->bhqk", q, k) / math.sqrt(w.head_dim)
    logits = jnp.where(visible[:, None], logits, -jnp.inf)
    peak = jnp.maximum(logits.max(-1), jnp.finfo(wide).min)
    weights = jnp.exp(logits - peak[..., None])
    return product("bhqk,bkhd->bhqd", weights, v.astype(wide)), peak, weights.sum(-1)


def join(parts: Sequence[Part], dtype: Any) -> Any:
    """Attention over the keys of all parts, [batch, queries, heads, d]; 0 for queries without keys."""
    import jax.numpy as jnp

    peak = jnp.stack([part[1] for part in parts]).max(0)
    scales = [jnp.exp(part[1] - peak) for part in parts]
    summed = sum(scale[..., None] * part[0] for scale, part in zip(scales, parts, strict=True))
    total = sum(scale * part[2] for scale, part in zip(scales, parts, strict=True))
    result = jnp.asarray(summed) / jnp.where(total == 0, 1, total)[..., None]
    return jnp.swapaxes(result, 1, 2).astype(dtype)


def _places(lengths: Any, offsets: Any, seq: int) -> tuple[Any, Any, Any]:
    """(segment, index in it, its length) of every token of a row, [batch, seq]; segment −1 if none."""
    import jax.numpy as jnp

    front = jnp.argsort(lengths <= 0, axis=1, stable=True)
    lengths = jnp.take_along_axis(lengths, front, axis=1)
    starts = offsets[:, :-1]
    token = jnp.arange(seq, dtype=jnp.int32)[:, None]
    inside = (starts[:, None] >= 0) & (token >= starts[:, None]) & (token < (starts + lengths)[:, None])
    segment = jnp.where(inside.any(-1), inside.argmax(-1), -1)
    own = jnp.maximum(segment, 0)
    start, length = (jnp.take_along_axis(part, own, axis=1) for part in (starts, lengths))
    return segment, token[:, 0] - start, length
