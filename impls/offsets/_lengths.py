"""The last step of every jax implementation: lengths and offsets from the ids of the tokens that count."""

from __future__ import annotations

from functools import partial
from typing import Any


def lengths_of(ids: Any, places: int) -> Any:
    """Tokens per id 1 … places, int32 [batch, places]; larger ids are not counted."""
    import jax
    import jax.numpy as jnp

    counts = jax.vmap(partial(jnp.bincount, length=places + 1))(ids)
    return counts[:, 1:].astype(jnp.int32)


def offsets_of(ids: Any, places: int) -> Any:
    """Where each run of one id begins, int32 [batch, places + 1]; −1 after the last.

    A segment with a gap inside begins twice.
    """
    import jax
    import jax.numpy as jnp

    changes = jnp.concatenate([ids[:, :1] != 0, ids[:, 1:] != ids[:, :-1]], axis=1)
    first = jax.vmap(partial(jnp.argwhere, size=places + 1, fill_value=-1))(changes & (ids != 0))
    return first[..., 0].astype(jnp.int32)


def tail(ids_q: Any, ids_kv: Any, places: int) -> tuple[Any, Any, Any, Any]:
    """(q_seqlens, kv_seqlens, q_offsets, kv_offsets) of ids [batch, seq]; id 0: the token does not count."""
    return (
        lengths_of(ids_q, places),
        lengths_of(ids_kv, places),
        offsets_of(ids_q, places),
        offsets_of(ids_kv, places),
    )


def left_in_run(ids: Any, positions: Any) -> Any:
    """What bottom_right compares: the length of the token's run of equal ids (0 on padding) − position."""
    import jax
    import jax.numpy as jnp

    index = jnp.arange(ids.shape[1], dtype=jnp.int32)
    changes = ids[:, 1:] != ids[:, :-1]
    edge = jnp.ones_like(ids[:, :1], bool)
    first = jnp.where(jnp.concatenate([edge, changes], axis=1), index, 0)
    last = jnp.where(jnp.concatenate([changes, edge], axis=1), index, index[-1])
    # A token's run starts at the last run start at or before it, and ends at the first run end at or after
    # it.
    first = jax.lax.cummax(first, axis=1)
    last = jax.lax.cummin(last, axis=1, reverse=True)
    return jnp.where(ids != 0, last - first + 1, 0) - positions
