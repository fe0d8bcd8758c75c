"""Offsets: the length and first token of each packed segment, counting only tokens that attend.

Fused attention over packed rows needs, per row, the length of every segment and the index of its first token.
TransformerEngine derives both from segment ids (0 is padding) and positions, and drops tokens that have no
partner under the mask. Its pull request #2522 replaced a T × T mask by O(T) work. Semantics `attended` is
attention that uses these lengths and offsets, so a wrong offset gives a wrong result.

Kinds, for a query and a key of one segment: `causal` position_q ≥ position_kv; `bottom_right` tokens left in
the run, rl_q − position_q ≤ rl_kv − position_kv; `padding` always; `sliding` causal, and position_q −
position_kv < `window`. The window counts keys including the query's own, as TransformerEngine's (window − 1,
0) does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Cost, Family, Semantics, Shapes, Unsupported, exact, tolerance

from ._checks import CHECKS
from ._inputs import LEAST_TOKENS, attended_arrays, complete, inputs
from .reference import pairwise, zero_empty
from .reference_attended import ATTENDED, attended_cost, attention_of_segments, refuse_attended
from .workload import DISTRIBUTIONS, OffsetsWorkload


def shapes(w: OffsetsWorkload) -> Shapes:
    _refuse_documents(w)
    for name, tokens in (("seq", w.seq), ("seq_kv", w.keys)):
        if w.lengths == "uniform" and tokens < LEAST_TOKENS * w.max_segments:
            wanted = f"{w.max_segments} segments of {LEAST_TOKENS} tokens"
            raise Unsupported(f"{name} {tokens} is too short for {wanted}; use fewer segments")
    if w.seq_kv and w.layout != "cross":
        raise Unsupported(f"layout={w.layout} has queries and keys in one row; use layout=cross or seq_kv=0")
    if w.layout == "absent" and w.max_segments < 2:
        raise Unsupported("layout=absent needs at least two segments; use max_segments of at least 2")
    row, keys = Array((w.batch, w.seq), "i32"), Array((w.batch, w.keys), "i32")
    packed = {"segment_ids_q": row, "segment_ids_kv": keys, "positions_q": row, "positions_kv": keys}
    return packed | attended_arrays(w)


def _refuse_documents(w: OffsetsWorkload) -> None:
    """Raise :class:`Unsupported` if documents of real lengths do not fit the row or its layout."""
    if w.lengths != "uniform" and w.layout != "self":
        raise Unsupported(f"lengths={w.lengths}, layout={w.layout}: documents are not split; use layout=self")
    if w.lengths != "uniform" and w.distribution in DISTRIBUTIONS[1:]:
        raise Unsupported(f"lengths={w.lengths}, distribution={w.distribution}: both set lengths; use one")
    most = max(map(len, w.packed), default=0)
    if most > w.max_segments:
        raise Unsupported(f"max_segments {w.max_segments} is less than {most} documents in a row; use {most}")


def partnerless(w: OffsetsWorkload) -> bool:
    """Whether every seeded input has a token without a partner, so that counting ids is wrong.

    An absent segment has no partner under any mask. With shorter queries, no query reaches the last keys
    under a top-left mask. In a stripe the row's first query is before all keys, and has more tokens left than
    any key.
    """
    top_left = w.kind in {"causal", "sliding"}
    return (
        w.layout == "absent"
        or (w.layout == "cross" and top_left)
        or (w.layout == "striped" and w.kind != "padding")
    )


def fails_by_counting(w: OffsetsWorkload, _: Mapping[str, Any]) -> dict[str, str]:
    """The checks that fail if all ids are counted, including tokens without a partner."""
    why = "counts tokens without a partner (review of TransformerEngine #2522)"
    return {"golden": why} | ({"short_striped_segments": why} if w.kind == "bottom_right" else {})


def cost(w: OffsetsWorkload) -> Cost:
    """Bytes: read four int32 rows, write lengths and offsets. Dense: compare all pairs.

    For each pair the id is compared, and none, one or two bounds of the position, depending on the kind.
    """
    bounds = {"padding": 0, "causal": 1, "bottom_right": 1, "sliding": 2}[w.kind]
    return Cost(
        bytes=4 * w.batch * (2 * w.seq + 2 * w.keys + 4 * w.max_segments + 2),
        dense_flops=float(1 + bounds) * w.batch * w.seq * w.keys,
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
            sentence="lengths and starts of the tokens that have a partner under the pairwise mask",
        ),
        "attended": Semantics(
            "attended",
            attention_of_segments,
            tolerance(ATTENDED),
            sentence="softmax attention of each token over its allowed keys; 0 if there are none",
            cost=attended_cost,
            refuse=refuse_attended,
            layout="[B, T, H, D]",
        ),
    },
    cost=cost,
    checks=CHECKS,
    stages=("encode", "sort", "search", "count", "offsets", "attention"),
    complete=complete,
)
