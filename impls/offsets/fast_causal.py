"""Trimming the ends: TransformerEngine's short cut for causal masks, before #2522 and after it.

Counts ids, then compares positions at a segment's two ends: its first query is dropped where its first key
lies later, its last key where its last query lies earlier. One token each at most: right for a ring's
stripe, wrong for a query much shorter than its keys. A segment that one side does not hold, by the lengths
before either is dropped, keeps all the tokens of the other, though they meet no partner. Linear in seq.

As merged, hence with its faults. Places are matched by their number, so from an absent segment on the ends
of different segments are compared. A segment's end is offset[i + 1] − 1, which may be padding behind it, and
beyond the last segment −2: the row's last token but one. It is taken after the next segment's first
query was dropped, and then lies one too far. Positions are read from the flattened batch, so
every row reads those of row 0 (and −2 those of the last row): right for one row, by luck for more.
"""

from collections.abc import Mapping
from typing import Any

from harness import Unsupported, implementation

from ._lengths import tail
from .workload import OffsetsWorkload


def more_to_trim(w: OffsetsWorkload) -> bool:
    """Whether seeded inputs need more than this gives: many tokens off one end, or an absent segment.

    In a stripe a segment's end is compared one token too far where the next begins on a query. Each
    boundary has even chances of that, so from some twelve segments on none of 600 seeds came out right.
    """
    return w.layout in {"absent", "cross"} or (w.layout == "striped" and w.batch * w.max_segments >= 16)


def trims(_: OffsetsWorkload, _options: Mapping[str, Any]) -> dict[str, str]:
    return {
        "golden": "drops one token an end at most, and matches segments by place (TransformerEngine #2522)",
        "batch_equals_per_row": "takes positions without naming the row (TransformerEngine #2522)",
    }


@implementation(
    framework="jax",
    semantics="exact",
    expect={
        "incorrect": "drops one token an end at most, and matches segments by place: upstream's short cut",
        "when": more_to_trim,
    },
    fails=trims,
)
def fast_causal(w: OffsetsWorkload):
    import jax.numpy as jnp

    if w.kind != "causal":
        raise Unsupported(
            f"the ends of a segment decide a causal mask, not kind {w.kind}; use mask_quadratic"
        )

    def at(positions, places):
        """Positions at places of a row, read without the row's number; negative ones from the end."""
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
