"""Where runs of equal ids begin, in jax: two passes over counts instead of one scatter per token."""

from __future__ import annotations

from typing import Any

LANES = 16
"""A block is counted column by column first, which a CPU does in vectors."""

BLOCKS = 32
"""Counts that are added up before they are searched."""


def boundaries(ids: Any, count: int, block: int) -> Any:
    """The first `count` places of a row [seq] where a run begins, padding's included; seq behind the last.

    Changes are counted per block. The place of the j-th is found by descending: the group of blocks
    whose running count reaches j, its block, its token. So every token is read once, and a scatter,
    which a CPU does one by one, is not needed.
    """
    import jax
    import jax.numpy as jnp

    seq = ids.shape[0]
    group = block * BLOCKS
    ids = jnp.pad(ids, (0, -seq % group))
    changes = jnp.concatenate([jnp.ones_like(ids[:1], bool), ids[1:] != ids[:-1]])
    columns = changes.reshape(-1, block // LANES, LANES).sum(axis=1, dtype=jnp.int32)
    # The barrier keeps XLA from merging both sums into one that runs along a row.
    counts = jax.lax.optimization_barrier(columns).sum(axis=-1).reshape(-1, BLOCKS)
    groups = counts.sum(axis=-1)
    wanted = jnp.arange(1, count + 1, dtype=jnp.int32)
    chosen, wanted_in_group = _descend(groups, wanted)
    inside, wanted_in_block = _descend(counts[chosen], wanted_in_group)
    start = (chosen * BLOCKS + inside) * block
    places = start[:, None] + jnp.arange(block, dtype=jnp.int32)
    flags = (ids[places] != ids[jnp.maximum(places - 1, 0)]) | (places == 0)
    token, _ = _descend(flags.astype(jnp.int32), wanted_in_block)
    return jnp.where(wanted <= groups.sum(), jnp.minimum(start + token, seq), seq)


def _descend(counts: Any, wanted: Any) -> tuple[Any, Any]:
    """Along the last axis: where the running count reaches `wanted`, and what is wanted there."""
    import jax.numpy as jnp

    running = jnp.cumsum(counts, axis=-1)
    below = running < wanted[:, None]
    before = jnp.where(below, running, 0).max(axis=-1)
    return jnp.minimum(below.sum(axis=-1, dtype=jnp.int32), counts.shape[-1] - 1), wanted - before


def first_at_least(values: Any, starts: Any, ends: Any, bounds: Any) -> Any:
    """In each range of a row [seq] whose values rise: the first place where they reach the bound, or its end.

    Ranges that begin at or above the bound, or end below it, cost no step.
    """
    import jax
    import jax.numpy as jnp

    last = values[jnp.maximum(ends - 1, 0)]
    found = values[jnp.minimum(starts, values.shape[0] - 1)] >= bounds
    low = jnp.where(found | (last >= bounds), starts, ends)
    high = jnp.where(found, starts, ends)

    def halve(state: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = state
        middle = (low + high) // 2
        open_ = low < high
        reached = values[jnp.minimum(middle, values.shape[0] - 1)] >= bounds
        return jnp.where(open_ & ~reached, middle + 1, low), jnp.where(open_ & reached, middle, high)

    return jax.lax.while_loop(lambda state: (state[0] < state[1]).any(), halve, (low, high))[0]
