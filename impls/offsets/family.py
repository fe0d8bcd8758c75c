"""Offsets: how long each packed segment is and where it begins, counting attended tokens only.

Fused attention over packed rows wants, per row, the length of every segment and the index of its
first token. TransformerEngine derives both from segment ids (0 is padding) and positions, and drops
tokens that meet no partner under the mask. Its pull request #2522 replaced a T × T mask by O(T) work.

Kinds, for a query and a key of one segment: `causal` position_q ≥ position_kv; `bottom_right` tokens
left in the run, rl_q − position_q ≤ rl_kv − position_kv; `padding` always; `sliding` causal, and
position_q − position_kv < `window`: the window counts keys, the query's own among them, as
TransformerEngine's (window − 1, 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Cost, Family, Semantics, Shapes, Unsupported, exact

from ._checks import CHECKS
from ._inputs import LEAST_TOKENS, inputs
from .reference import pairwise, zero_empty
from .workload import OffsetsWorkload


def shapes(w: OffsetsWorkload) -> Shapes:
    if w.seq < LEAST_TOKENS * w.max_segments:
        raise Unsupported(
            f"seq {w.seq} is too short for {w.max_segments} segments of {LEAST_TOKENS} tokens; use fewer"
        )
    if w.layout == "absent" and w.max_segments < 2:
        raise Unsupported("a segment can be absent only where there are two; use max_segments of at least 2")
    row = Array((w.batch, w.seq), "i32")
    return {"segment_ids_q": row, "segment_ids_kv": row, "positions_q": row, "positions_kv": row}


def partnerless(w: OffsetsWorkload) -> bool:
    """Whether every seeded input holds a token that meets no partner, so that counting ids is wrong.

    An absent segment has none under any mask. Of a shorter query none reaches the last keys under a
    top-left mask. In a stripe the row's first query lies before all keys, and has more left than any.
    """
    top_left = w.kind in {"causal", "sliding"}
    return (
        w.layout == "absent"
        or (w.layout == "cross" and top_left)
        or (w.layout == "striped" and w.kind != "padding")
    )


def counted(w: OffsetsWorkload, _: Mapping[str, Any]) -> dict[str, str]:
    """The checks that fail where ids are counted as they stand, whatever meets a partner."""
    why = "counts tokens that meet no partner (review of TransformerEngine #2522)"
    return {"golden": why} | ({"short_striped_segments": why} if w.kind == "bottom_right" else {})


def cost(w: OffsetsWorkload) -> Cost:
    """Bytes: read four int32 rows, write lengths and offsets. Dense: the comparisons of all pairs.

    A pair is compared for its id and, per kind, for no, one or two bounds of the position.
    """
    bounds = {"padding": 0, "causal": 1, "bottom_right": 1, "sliding": 2}[w.kind]
    return Cost(
        bytes=4 * w.batch * (4 * w.seq + 4 * w.max_segments + 2),
        dense_flops=float(1 + bounds) * w.batch * w.seq**2,
    )


FAMILY = Family(
    name="offsets",
    question="How are the lengths and offsets of packed segments found without comparing all pairs?",
    workload=OffsetsWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "exact": Semantics(
            "exact",
            pairwise,
            exact(zero_empty),
            sentence="lengths and starts of the tokens that meet a partner, as the pairwise mask has them",
        )
    },
    cost=cost,
    checks=CHECKS,
    stages=("encode", "sort", "search", "count"),
)
