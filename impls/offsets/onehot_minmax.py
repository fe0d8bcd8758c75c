"""Per-segment extremes over a one-hot [batch, seq, max_segments + 1]: what #2522 merged (360779bab).

A token has a partner if the other side's extreme allows it: the least key position and the largest query
position; for bottom_right, the extremes of rl − position. Work and memory grow with max_segments.

Reproduces the merged code including its faults. The largest starts at −1, which exceeds true keys below −1
(short segments over a ring of four or more under bottom_right). Ids beyond max_segments read the fill value
of an out-of-bounds lookup, which makes the kv offsets (causal) or the q offsets (bottom_right) unusable.
"""

from collections.abc import Mapping
from typing import Any

from harness import Unsupported, implementation

from ._lengths import left_in_run, tail
from .workload import OffsetsWorkload


def fills(w: OffsetsWorkload, _: Mapping[str, Any]) -> dict[str, str]:
    """Kind padding needs no fill value."""
    if w.kind == "padding":
        return {}
    void = "a larger id reads the fill value of an out-of-bounds lookup (TransformerEngine #2522, as merged)"
    known = {"golden": void, "ids_above_max_segments": void, "more_segments_than_slots": void}
    if w.kind == "bottom_right":
        known["short_striped_segments"] = "its fill value −1 exceeds true keys below it (as merged)"
    return known


@implementation(framework="jax", semantics="exact", fails=fills)
def onehot_minmax(w: OffsetsWorkload):
    import jax.numpy as jnp

    if w.kind == "sliding":
        raise Unsupported("kind=sliding: segments' extremes do not decide a sliding window; use kind=causal")

    def members(ids):
        return ids[..., None] == jnp.arange(w.max_segments + 1, dtype=jnp.int32)

    def least(ids, keys):
        return jnp.where(members(ids), keys[..., None], jnp.iinfo(jnp.int32).max).min(axis=1)

    def largest(ids, keys):
        return jnp.where(members(ids), keys[..., None], -1).max(axis=1)

    def of_token(per_segment, ids):
        return jnp.take_along_axis(per_segment, ids, axis=1)

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        q, kv = segment_ids_q, segment_ids_kv
        if w.kind == "padding":
            met_q = of_token(members(kv).any(axis=1), q)
            met_kv = of_token(members(q).any(axis=1), kv)
        elif w.kind == "causal":
            met_q = positions_q >= of_token(least(kv, positions_kv), q)
            met_kv = positions_kv <= of_token(largest(q, positions_q), kv)
        else:
            left_q, left_kv = left_in_run(q, positions_q), left_in_run(kv, positions_kv)
            met_q = left_q <= of_token(largest(kv, left_kv), q)
            met_kv = left_kv >= of_token(least(q, left_q), kv)
        return tail(jnp.where(met_q, q, 0), jnp.where(met_kv, kv, 0), w.max_segments)

    return offsets
