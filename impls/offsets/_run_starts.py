"""Starts of runs of equal ids, in jax: one pass over the row, then over the few blocks with a change."""

from __future__ import annotations

from typing import Any

LANES = 16
"""Tokens per row of a block: rows are compared in vectors, and the marks of a row are one word."""

WORD = 32
"""Number of blocks whose marks are the bits of one word."""


def boundaries(ids: Any, count: int, block: int) -> Any:
    """The first `count` positions of a row [seq] at which a run begins, including padding; seq if missing.

    A block has a change if one of its tokens differs from the last token before the block. This takes one
    pass, without reading shifted neighbours. The j-th start is in one of the first j blocks with a change, so
    only those are read again; inside a block, a start is found by counting bits. This needs no scatter and no
    running sum along the row, which a CPU would do token by token.
    """
    import jax
    import jax.numpy as jnp

    seq = ids.shape[0]
    # Zeros after the row begin at most one run, at seq, which means "missing".
    ids = jnp.pad(ids, (0, -seq % (block * WORD)))
    blocks = ids.reshape(-1, block // LANES, LANES)
    # Put a value that differs from the first token before the row, so that the first token begins a run.
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
    """Pack at most 32 booleans of the last axis into one word; the first is the lowest bit."""
    import jax.numpy as jnp

    shifts = jnp.arange(bits.shape[-1], dtype=jnp.uint32)
    return (bits.astype(jnp.uint32) << shifts).sum(axis=-1, dtype=jnp.uint32)


def _ones(words: Any) -> Any:
    import jax

    return jax.lax.population_count(words).astype("int32")


def _find_reached(running: Any, wanted: Any, *rows: Any) -> tuple[Any, Any]:
    """(index on the last axis at which a running count reaches `wanted`, the remaining rank within it).

    `rows` has the row numbers, if each wanted entry has its own running count.
    """
    import jax.numpy as jnp

    below = (running < wanted[:, None]).sum(axis=-1, dtype=jnp.int32)
    before = running[(*rows, jnp.maximum(below - 1, 0))]
    return jnp.minimum(below, running.shape[-1] - 1), wanted - jnp.where(below > 0, before, 0)


def _place_of(rank: Any, words: Any) -> Any:
    """Position of a word's `rank`-th set bit (ranks count from 1), by bisection."""
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
    """Where the ascending values of each range of a row [seq] first reach its bound; else the range's end.

    Ranges that begin at or above the bound, or end below it, need no step of the search.
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
