"""The pairwise mask, one block of queries at a time: O(T · tile) memory, but still O(T²) work.

Shows how much of the time of `mask_quadratic` is due to its memory and how much to its comparisons. A block
is compared with all keys. Its queries are then finished; the keys carry their largest id to the next block.
If `tile` does not divide seq, the last block overlaps the one before, which does not change a maximum.
"""

from harness import Unsupported, implementation

from ._lengths import left_in_run, tail
from .workload import OffsetsWorkload


@implementation(framework="jax", semantics="exact")
def mask_blocked(w: OffsetsWorkload, *, tile: int = 256):
    import jax
    import jax.numpy as jnp

    if tile < 1:
        raise Unsupported(f"tile={tile}: a block needs at least one row; use tile of at least 1")
    rows = min(tile, w.seq)
    blocks = -(-w.seq // rows)

    def allowed(query, key):
        """The mask's predicate on positions, or on what is left in the run: [batch, rows, seq]."""
        query, key = query[:, :, None], key[:, None, :]
        if w.kind == "bottom_right":
            return query <= key
        if w.kind == "sliding":
            return (query >= key) & (query - key < w.window)
        return query >= key

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        keys_q, keys_kv = positions_q, positions_kv
        if w.kind == "bottom_right":
            keys_q, keys_kv = left_in_run(segment_ids_q, keys_q), left_in_run(segment_ids_kv, keys_kv)

        def block(number, met):
            met_q, met_kv = met
            start = jnp.minimum(number * rows, w.seq - rows)
            ids = jax.lax.dynamic_slice_in_dim(segment_ids_q, start, rows, axis=1)
            mask = ids[:, :, None] == segment_ids_kv[:, None, :]
            if w.kind != "padding":
                mask &= allowed(jax.lax.dynamic_slice_in_dim(keys_q, start, rows, axis=1), keys_kv)
            pairs = jnp.where(mask, ids[:, :, None], 0)
            met_q = jax.lax.dynamic_update_slice_in_dim(met_q, pairs.max(axis=2), start, axis=1)
            return met_q, jnp.maximum(met_kv, pairs.max(axis=1))

        nothing = jnp.zeros_like(segment_ids_q), jnp.zeros_like(segment_ids_kv)
        met_q, met_kv = jax.lax.fori_loop(0, blocks, block, nothing)
        return tail(met_q, met_kv, w.max_segments)

    return offsets
