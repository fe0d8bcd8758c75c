"""The pairwise T × T mask: store the id of every allowed pair, then take the maximum per row and column.

TransformerEngine's general path before #2522, and this family's definition. Upstream's mask is float32, four
bytes a pair, unless the compiler fuses both reductions into it.
"""

from harness import implementation

from ._lengths import left_in_run, tail
from .workload import OffsetsWorkload


@implementation(framework="jax", semantics="exact")
def mask_quadratic(w: OffsetsWorkload):
    import jax.numpy as jnp

    def pairs(query, key, combine):
        # In float32, as upstream has it, ids are exact only below 2²⁴.
        return combine(query[:, None, :, None], key[:, None, None, :]).astype(jnp.float32)

    def allowed(ids_q, ids_kv, positions_q, positions_kv):
        same = pairs(ids_q, ids_kv, jnp.equal)
        if w.kind == "padding":
            return same
        if w.kind == "bottom_right":
            left_q, left_kv = left_in_run(ids_q, positions_q), left_in_run(ids_kv, positions_kv)
            return jnp.logical_and(same, pairs(left_q, left_kv, jnp.less_equal))
        same = jnp.logical_and(same, pairs(positions_q, positions_kv, jnp.greater_equal))
        if w.kind == "causal":
            return same
        return jnp.logical_and(same, pairs(positions_q, positions_kv, lambda q, kv: q - kv < w.window))

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        ids = pairs(segment_ids_q, segment_ids_kv, lambda q, kv: jnp.equal(q, kv) * q)
        mask = jnp.where(allowed(segment_ids_q, segment_ids_kv, positions_q, positions_kv), ids, 0)[:, 0]
        ids_q, ids_kv = mask.max(axis=-1), mask.max(axis=-2)
        return tail(ids_q.astype(jnp.int32), ids_kv.astype(jnp.int32), w.max_segments)

    return offsets
