"""Run lengths: find runs block by block, and lengths as differences of their starts.

After the boundaries are found, only the runs are processed. Positions rise within a run, so the tokens
without a partner are the first of a query's run and the last of a key's; a binary search finds how many.
Reads every id once, and no position except at the ends of runs: the least memory traffic of this family.

Exact while a row has at most 4 · max_segments + 1 runs, including padding: two of tokens and two of padding
for each segment. No layout has more, so no workload is refused. In rows with more runs the last ones are
lost, as the check `many_gaps` shows. This limit is printed with every case. Comparing runs with runs grows
with the square of max_segments.
"""

from typing import Any

from harness import Unsupported, implementation

from ._run_starts import LANES, boundaries, first_at_least
from .workload import OffsetsWorkload


def most_runs(w: OffsetsWorkload) -> int:
    return 4 * w.max_segments + 1


def facts(w: OffsetsWorkload, *_: Any) -> dict[str, Any]:
    return {"most_runs_of_a_row": most_runs(w)}


def loses_runs(*_: Any) -> dict[str, str]:
    return {"many_gaps": "finds at most 4 · max_segments + 1 runs per row"}


@implementation(framework="jax", semantics="exact", fails=loses_runs, facts=facts)
def run_length(w: OffsetsWorkload, *, block: int = 64):
    import jax
    import jax.numpy as jnp

    if w.kind == "sliding":
        raise Unsupported("kind=sliding: a run's ends do not decide it; use torch_unique or kind=causal")
    if block < LANES or block % LANES:
        raise Unsupported(f"block={block} is not a multiple of {LANES} columns; use a multiple")
    runs = most_runs(w)

    def found(ids, positions):
        """For each run: start, end, id (0 if none), first and last key, and position − key."""
        bounds, seq = boundaries(ids, runs + 1, block), ids.shape[0]
        start, end = bounds[:-1], bounds[1:]
        known = jnp.where(start < seq, ids[jnp.minimum(start, seq - 1)], 0)
        shift = end - start if w.kind == "bottom_right" else jnp.zeros_like(start)
        first = positions[jnp.minimum(start, seq - 1)] - shift
        last = positions[jnp.maximum(end - 1, 0)] - shift
        return start, end, known, first, last, shift

    def summed(known, start, length):
        """Lengths per id, and the starts of runs that have any tokens left."""
        kept = (known != 0) & (length > 0)
        places = jnp.arange(1, w.max_segments + 1, dtype=jnp.int32)
        lengths = jnp.where(known == places[:, None], length, 0).sum(axis=1, dtype=jnp.int32)
        rank = jnp.where(kept, jnp.cumsum(kept) - 1, -1)
        order = jnp.arange(w.max_segments + 1, dtype=jnp.int32)
        return lengths, jnp.where(rank == order[:, None], start, -1).max(axis=1)

    def of_row(ids_q, ids_kv, positions_q, positions_kv):
        start_q, end_q, known_q, _, last_q, shift_q = found(ids_q, positions_q)
        start_kv, end_kv, known_kv, first_kv, _, shift_kv = found(ids_kv, positions_kv)
        same = (known_q[:, None] == known_kv) & (known_q[:, None] != 0)
        if w.kind == "padding":
            met_q, met_kv = same.any(axis=1), same.any(axis=0)
        else:
            limit = jnp.iinfo(jnp.int32)
            least = jnp.where(same, first_kv, limit.max).min(axis=1)
            largest = jnp.where(same, last_q[:, None], limit.min).max(axis=0)
            met_q, met_kv = least < limit.max, largest > limit.min  # no position reaches this
            # Queries count from `least` on, keys up to `largest`, so the first that does not count is one
            # after it.
            from_q = jnp.where(met_q, least + shift_q, limit.min)
            from_kv = jnp.where(met_kv, largest + shift_kv + 1, limit.min)
            start_q = first_at_least(positions_q, start_q, end_q, from_q)
            end_kv = first_at_least(positions_kv, start_kv, end_kv, from_kv)
        return (
            *summed(known_q, start_q, jnp.where(met_q, end_q - start_q, 0)),
            *summed(known_kv, start_kv, jnp.where(met_kv, end_kv - start_kv, 0)),
        )

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        parts = jax.vmap(of_row)(segment_ids_q, segment_ids_kv, positions_q, positions_kv)
        q_seqlens, q_offsets, kv_seqlens, kv_offsets = parts
        return q_seqlens, kv_seqlens, q_offsets, kv_offsets

    return offsets
