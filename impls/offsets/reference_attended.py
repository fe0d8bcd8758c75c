"""Reference in numpy for attention over packed segments with the pairwise mask.

Bound on rounding, in unit roundoffs u: with logits and sums in f32, a half-precision result is rounded twice,
once for its weights and once for the result: 2 u. In f32 the sums dominate, with errors that grow like √n u
(Higham & Mary 2019): 1e-5 allows segments of 2^14 tokens. In f64 the bound is near 1e-10, which detects any
stage computed in f32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harness import Cost, Unsupported

from .reference import allowed, run_lengths
from .workload import OffsetsWorkload

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
ATTENDED = {"f64": 1e-10, "f32": 1e-5, "bf16": 2 * 2**-8, "f16": 2 * 2**-11}


def refuse_attended(w: OffsetsWorkload) -> None:
    """Raise :class:`Unsupported` if starts and lengths do not determine which tokens a segment has."""
    if not w.head_dim:
        raise Unsupported("head_dim=0: there are no queries, keys and values; set head_dim, for example 64")
    if w.layout == "intra_padding":
        raise Unsupported(
            "layout=intra_padding: a start and a length cannot describe a gap in a segment; use layout=self"
        )
    if w.layout == "striped" and w.kind == "sliding":
        raise Unsupported(
            "kind=sliding, layout=striped: the window counts tokens on other stripes; use kind=causal"
        )


def attended_cost(w: OffsetsWorkload) -> Cost:
    """Bytes: read all inputs once, write the result. Dense FLOPs: all pairs. FLOPs: packed lengths only."""
    width, both = BYTES[w.dtype] * w.heads * w.head_dim, w.seq + w.keys
    pairs = sum(_pairs(w, tokens) for row in w.packed for tokens in row)
    return Cost(
        flops=4.0 * w.heads * w.head_dim * pairs or None,
        bytes=w.batch * (2 * both * width + 8 * both),
        dense_flops=4.0 * w.batch * w.heads * w.head_dim * w.seq * w.keys,
    )


def _pairs(w: OffsetsWorkload, tokens: int) -> int:
    """Number of allowed pairs in a document whose queries are also its keys."""
    if w.kind == "padding":
        return tokens * tokens
    seen = min(tokens, w.window) if w.kind == "sliding" else tokens
    return seen * (seen + 1) // 2 + (tokens - seen) * seen


def attention_of_segments(w: OffsetsWorkload, _: Any) -> Callable[..., Any]:
    """[batch, seq, heads, head_dim]: each token's attention to its segment's keys; 0 if it has no partner."""
    import numpy as np

    def attend(
        segment_ids_q: Any, segment_ids_kv: Any, positions_q: Any, positions_kv: Any, q: Any, k: Any, v: Any
    ) -> Any:
        out = np.zeros(q.shape)
        for row, (ids_q, ids_kv) in enumerate(zip(segment_ids_q, segment_ids_kv, strict=True)):
            place_q, place_kv = positions_q[row], positions_kv[row]
            if w.kind == "bottom_right":
                place_q, place_kv = run_lengths(ids_q) - place_q, run_lengths(ids_kv) - place_kv
            for segment in np.intersect1d(ids_q[ids_q != 0], ids_kv):
                at_q, at_kv = np.flatnonzero(ids_q == segment), np.flatnonzero(ids_kv == segment)
                seen = allowed(w, place_q[at_q][:, None], place_kv[at_kv])
                out[row, at_q] = _softmax_of(q[row, at_q], k[row, at_kv], v[row, at_kv], seen)
        return out

    return attend


def _softmax_of(q: Any, k: Any, v: Any, seen: Any) -> Any:
    """Attention of one segment: [queries, heads, d] over the keys that each query sees; 0 if it sees none."""
    import numpy as np

    logits = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
    logits = np.where(seen, logits, -np.inf)
    weights = np.exp(logits - np.maximum(logits.max(-1, keepdims=True), np.finfo(float).min))
    total = weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights / np.where(total, total, 1), v)
