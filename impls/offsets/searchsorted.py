"""Binary search: make ids monotone, find bounds with searchsorted, lengths as differences of a count.

Padding takes the id before it, which makes a row ascending. Segment s begins where s is first reached; its
length is the number of tokens before s + 1 minus those before s. Linear in seq, like `bincount`, but without
scatters. Counts all ids, so it is wrong for tokens without a partner. A segment with a gap inside begins once
here and twice in the definition. Ids beyond max_segments have no offset.
"""

from collections.abc import Mapping
from typing import Any

from harness import implementation

from .family import fails_by_counting, partnerless
from .workload import OffsetsWorkload


def one_start_an_id(w: OffsetsWorkload, options: Mapping[str, Any]) -> dict[str, str]:
    return fails_by_counting(w, options) | {
        **dict.fromkeys(("intra_segment_padding", "many_gaps"), "an ascending row has one start per id"),
        "ids_above_max_segments": "searches only ids up to max_segments",
        "more_segments_than_slots": "searches only ids up to max_segments",
    }


@implementation(
    framework="jax",
    semantics="exact",
    expect={
        "incorrect": "counts tokens without a partner, and only one start for a segment with a gap inside",
        "when": lambda w: partnerless(w) or w.layout == "intra_padding",
    },
    fails=one_start_an_id,
)
def searchsorted(w: OffsetsWorkload):
    import jax
    import jax.numpy as jnp

    def of_row(ids):
        ascending = jax.lax.cummax(ids)
        before = jnp.cumsum(ids != 0, dtype=jnp.int32)
        bounds = jnp.searchsorted(ascending, jnp.arange(1, w.max_segments + 2, dtype=jnp.int32))
        before_bound = jnp.where(bounds == 0, 0, before[bounds - 1])
        lengths = jnp.diff(before_bound)
        seq = ids.shape[0]
        starts = jnp.where(lengths > 0, bounds[:-1], seq)
        # Missing starts are seq, so sorting moves them to the end.
        starts = jnp.sort(jnp.append(starts, seq))
        return lengths, jnp.where(starts < seq, starts, -1).astype(jnp.int32)

    def offsets(segment_ids_q, segment_ids_kv):
        (q_seqlens, q_offsets), (kv_seqlens, kv_offsets) = (
            jax.vmap(of_row)(ids) for ids in (segment_ids_q, segment_ids_kv)
        )
        return q_seqlens, kv_seqlens, q_offsets, kv_offsets

    return offsets
