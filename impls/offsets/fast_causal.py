"""Trim the ends of segments: TransformerEngine's shortcut for causal masks, before and after #2522.

Counts ids, then compares positions at a segment's two ends. The first query is dropped if its first key is
later, the last key if its last query is earlier: at most one token each. This is right for a ring's stripe
and wrong for a query much shorter than its keys. If one side lacks a segment (by the lengths before tokens
are dropped), all tokens of the other side are counted although they have no partner. Linear in seq.

Reproduces the merged code including its faults. Segments are matched by slot number, so after an absent
segment the ends of different segments are compared. A segment's end is taken as offset[i + 1] − 1, which may
be padding after it, and after the last segment −2: the row's last token but one. The end is taken after the
next segment's first query was dropped, and is then one token too far. Positions are read from the flattened
batch, so every row reads those of row 0 (and −2 reads those of the last row). This is right for one row, and
right for more rows only by chance.
"""

from collections.abc import Mapping
from typing import Any

from harness import Unsupported, implementation

from ._lengths import tail
from .workload import OffsetsWorkload


def more_to_trim(w: OffsetsWorkload) -> bool:
    """Whether seeded inputs need more than this gives: many tokens off one end, or an absent segment.

    In a stripe a segment's end is compared one token too far if the next segment begins on a query. Each
    boundary has even chances of that, so with about twelve segments or more none of 600 seeds gave the right
    result.
    """
    return w.layout in {"absent", "cross"} or (w.layout == "striped" and w.batch * w.max_segments >= 16)


def trims(_: OffsetsWorkload, _options: Mapping[str, Any]) -> dict[str, str]:
    return {
        "golden": "drops at most one token per end, matches segments by slot (TransformerEngine #2522)",
        "batch_equals_per_row": "reads positions without the row index (TransformerEngine #2522)",
    }


@implementation(
    framework="jax",
    semantics="exact",
    expect={
        "incorrect": "drops at most one token per end, matches segments by slot number: upstream's shortcut",
        "when": more_to_trim,
    },
    fails=trims,
)
def fast_causal(w: OffsetsWorkload):
    import jax.numpy as jnp

    if w.kind != "causal":
        raise Unsupported(f"kind={w.kind}: segments' ends decide only kind=causal; use it or mask_quadratic")

    def at(positions, places):
        """Positions at indices of a row, without the row's number; negative indices count from the end."""
        return jnp.take(positions, places)

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        q_len, kv_len, q_off, kv_off = tail(segment_ids_q, segment_ids_kv, w.max_segments)
        both = (q_len > 0) & (kv_len > 0)
        late = at(positions_kv, kv_off[:, :-1]) > at(positions_q, q_off[:, :-1])
        drop = (late & both).astype(jnp.int32)
        q_off = q_off.at[:, :-1].add(drop)
        beyond = at(positions_kv, kv_off[:, 1:] - 1) > at(positions_q, q_off[:, 1:] - 1)
        return q_len - drop, kv_len - (beyond & both), q_off, kv_off

    return offsets
