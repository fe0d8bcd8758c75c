"""Where runs of equal ids begin, in jax: one pass over the row, then the few blocks that hold a change."""

from __future__ import annotations

from typing import Any

LANES = 16
"""Tokens in a row of a block: rows are compared side by side, in vectors, and a row's marks make a word."""

WORD = 32
"""Blocks whose marks are the bits of one word."""


def boundaries(ids: Any, count: int, block: int) -> Any:
    """The first `count` places of a row [seq] where a run begins, padding's included; seq for missing ones.

    A block holds a change where a token differs from the last one before the block, which is found in one
    pass and without a neighbour's shifted read. The j-th place is in one of the first j such blocks, so only
    those are read again; there a place is found by counting bits. Neither a scatter nor a running sum along
    the row is needed, which a CPU would do token by token.
    """
    import jax
    import jax.numpy as jnp

    seq = ids.shape[0]
    # Zeros behind the row begin one run at most, and at seq, which stands for none.
    ids = jnp.pad(ids, (0, -seq % (block * WORD)))
    blocks = ids.reshape(-1, block // LANES, LANES)
    # Before the row stands what differs from its first token, which so begins a run.
    before = jnp.concatenate([~ids[:1], blocks[:-1, -1, -1]])
    # The barrier keeps XLA from merging both reductions into one that runs along a row.
    columns = jax.lax.optimization_barrier((blocks != before[:, None, None]).any(axis=1))
    marks = _pack_bits(columns.any(axis=-1).reshape(-1, WORD))

    wanted = jnp.arange(1, count + 1, dtype=jnp.int32)
    marked = jnp.cumsum(_ones(marks))
    word, rank = _find_reached(marked, wanted)
    chosen = word * WORD + _place_of(rank, marks[word])
    tokens = ids[chosen[:, None] * block + jnp.arange(block, dtype=jnp.int32)]
    earlier = jnp.concatenate([before[chosen][:, None], tokens[:, :-1]], axis=1)
    changes = _pack_bits((tokens != earlier).reshape(count, -1, LANES))

    inside = jnp.cumsum(_ones(changes), axis=-1)
    found = jnp.cumsum(jnp.where(wanted <= marked[-1], inside[:, -1], 0))
    at, rank = _find_reached(found, wanted)
    word, rank = _find_reached(inside[at], rank, wanted - 1)
    place = chosen[at] * block + word * LANES + _place_of(rank, changes[at, word])
    return jnp.where(wanted <= found[-1], jnp.minimum(place, seq), seq)


def _pack_bits(bits: Any) -> Any:
    """Booleans along the last axis, at most 32, as one word: the first is its lowest bit."""
    import jax.numpy as jnp

    shifts = jnp.arange(bits.shape[-1], dtype=jnp.uint32)
    return (bits.astype(jnp.uint32) << shifts).sum(axis=-1, dtype=jnp.uint32)


def _ones(words: Any) -> Any:
    import jax

    return jax.lax.population_count(words).astype("int32")


def _find_reached(running: Any, wanted: Any, *rows: Any) -> tuple[Any, Any]:
    """(the entry of the last axis at which a running count reaches `wanted`, the rank wanted within it).

    `rows` are the row numbers where each wanted one has a running count of its own.
    """
    import jax.numpy as jnp

    below = (running < wanted[:, None]).sum(axis=-1, dtype=jnp.int32)
    before = running[(*rows, jnp.maximum(below - 1, 0))]
    return jnp.minimum(below, running.shape[-1] - 1), wanted - jnp.where(below > 0, before, 0)


def _place_of(rank: Any, words: Any) -> Any:
    """Which bit of a word is its `rank`-th that is set, from 1 on: by halving."""
    import jax.numpy as jnp

    place = jnp.zeros_like(rank)
    for width in (16, 8, 4, 2, 1):
        low = _ones(words & jnp.uint32(2**width - 1))
        above = rank > low
        rank = jnp.where(above, rank - low, rank)
        words = jnp.where(above, words >> width, words)
        place = jnp.where(above, place + width, place)
    return place


def first_at_least(values: Any, starts: Any, ends: Any, bounds: Any) -> Any:
    """Where each range of a row [seq], along which values rise, first reaches its bound; else its end.

    Ranges that begin at or above the bound, or end below it, cost no step of the search.
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
