"""Mask: open the selected columns of every row, close all others.

MLA's indexer picks `topk` of `seq` columns for each of `rows` queries. Attention then adds a mask that is 0
at the picked columns and hugely negative elsewhere (MaxText `generate_mask`, pull requests #4261 and #4437).
The closed value is −0.7 times the largest float32: adding it to a logit must not overflow, though adding it
twice does. float16 cannot represent it, so that dtype is refused.

The defaults are #4261's batch and selection, with 128 rows of its 1024.

Semantics `attended` is the use of the mask: the attention of one head with it. Its tolerance is in unit
roundoffs u. With logits and sums in f32, a bf16 result is rounded at most twice, once for its weights and
once for the result, each by at most u: 2 u. In f32 the sums dominate: errors of n additions grow like √n u
(Higham & Mary 2019), and 1e-5 allows chains of 2^14. A logit of order one with an error of that size gives
its weight the same relative error. In f64 a bound near 1e-10 would detect a stage computed in f32.

With `causal`, scores are masked before the selection, as in the indexer, and `masked_again` is the mask after
the causal mask was added to it once more, as in attention. Only then do all implementations agree: in a row
that sees fewer than `topk` columns, each implementation selects different hidden ones. One choice is left
free: which of the visible columns that tie at the cutoff are open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import (
    Array,
    Cost,
    Family,
    Semantics,
    Shapes,
    Unsupported,
    cast,
    draw_scores,
    exact,
    tolerance,
)

from ._checks import CHECKS
from ._contracts import exact_but_for_ties
from ._model import of_model
from .reference import (
    attention_under_mask,
    block_mask,
    closed_value,
    packed_mask,
    roles_of_columns,
    selection_mask,
    threshold_mask,
    top,
    visible,
)
from .workload import MaskWorkload

BYTES = {"f64": 8, "f32": 4, "bf16": 2}
ATTENDED = {"f64": 1e-10, "f32": 1e-5, "bf16": 2 * 2**-8}


def shapes(w: MaskWorkload) -> Shapes:
    if w.dtype == "f16":
        raise Unsupported("float16 cannot represent the closed value −2.4e38; use bf16 or f32")
    if w.topk >= w.seq:
        raise Unsupported(
            f"topk {w.topk} selects all of seq {w.seq}: the indexer is bypassed; use a larger seq"
        )
    if w.causal and w.rows > w.seq:
        raise Unsupported(f"{w.rows} rows exceed the {w.seq} positions of seq; use at most {w.seq}")
    return {
        "topk_indices": Array((w.batch, w.rows, w.topk), "i32"),
        "scores": Array((w.batch, w.rows, w.seq), w.dtype),
        "topk_values": Array((w.batch, w.rows, w.topk), w.dtype),
        **_attention(w),
    }


def _attention(w: MaskWorkload) -> dict[str, Array]:
    """Additional inputs of attention with the mask; empty without a `head_dim`."""
    if not w.head_dim:
        return {}
    memory = Array((w.batch, w.seq, w.head_dim), w.dtype)
    return {"queries": Array((w.batch, w.rows, w.head_dim), w.dtype), "keys": memory, "values": memory}


def inputs(w: MaskWorkload, rng: Any) -> Mapping[str, Any]:
    """Scores, normal by default, rounded to the dtype, and what `lax.top_k` selects from them.

    They are distributed as :func:`draw_scores` says, `clustered` in runs of `topk`. Rounding comes first, so
    in bf16 scores tie, also at the cutoff. With `causal` the closed value is added to the scores that a row
    does not see; the result is exactly the closed value. Queries, keys and values are normal too and
    independent of the scores; they are drawn last.
    """
    import numpy as np

    drawn = np.float64 if w.dtype == "f64" else np.float32
    scores = cast(draw_scores(w.distribution, (w.batch, w.rows, w.seq), w.topk, rng, drawn), w.dtype)
    selection = _select(w, scores)
    more = {
        name: cast(rng.standard_normal(array.shape, dtype=drawn), w.dtype)
        for name, array in _attention(w).items()
    }
    return {**selection, **more}


def _select(w: MaskWorkload, scores: Any) -> dict[str, Any]:
    """Scores after a causal mask, and what `lax.top_k` selects from them."""
    import numpy as np

    if w.causal:
        scores = np.where(visible(w, np.arange(w.rows)), scores, closed_value(w.dtype))
    indices = np.empty((w.batch, w.rows, w.topk), np.int32)
    for row in np.ndindex(w.batch, w.rows):
        indices[row] = top(scores[row].astype(np.float64 if w.dtype == "f64" else np.float32), w.topk)
    values = np.take_along_axis(scores, indices, axis=-1)
    return {"topk_indices": indices, "scores": scores, "topk_values": values}


def complete(w: MaskWorkload, arrays: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """Add a selection from captured scores if the file has none; indices must be columns.

    Raises ValueError also for a selection without its scores, because drawn scores would contradict it.
    """
    if "scores" in given and not given & {"topk_indices", "topk_values"}:
        return arrays | _select(w, arrays["scores"])
    parts = {"scores", "topk_indices", "topk_values"}
    if given & parts and not parts <= given:
        raise ValueError("a selection needs scores: capture scores, or scores, topk_indices and topk_values")
    indices = arrays["topk_indices"]
    if indices.min() < 0 or indices.max() >= w.seq:
        raise ValueError(
            f'"topk_indices" has {indices.min()} to {indices.max()}; columns are 0 to {w.seq - 1}'
        )
    return arrays


def cost(w: MaskWorkload) -> Cost:
    """Cost of a mask with one element per column, whatever the semantics.

    Bytes: read the indices, write the mask. Dense: a comparison and an OR per row, pick and column.
    """
    rows = w.batch * w.rows
    return Cost(
        bytes=rows * (w.topk * 4 + w.seq * BYTES.get(w.dtype, 4)),
        dense_flops=2.0 * rows * w.topk * w.seq,
    )


FAMILY = Family(
    name="mask",
    question="How is a mask over all columns computed from the selected columns?",
    workload=MaskWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "exact": Semantics("exact", selection_mask, exact(), sentence="open exactly the selected columns"),
        "threshold": Semantics(
            "threshold",
            threshold_mask,
            exact(),
            sentence="open every column whose score is at least the smallest selected score",
        ),
        "packed": Semantics(
            "packed", packed_mask, exact(), sentence="the selected columns as bits of 32-bit words"
        ),
        "blocks": Semantics(
            "blocks",
            block_mask,
            exact(),
            sentence="which blocks of 128 columns have a selected one, and which of their columns are",
        ),
        "attended": Semantics(
            "attended",
            attention_under_mask,
            tolerance(ATTENDED),
            sentence="the softmax attention of one head over the selected columns",
        ),
        "masked_again": Semantics(
            "masked_again",
            roles_of_columns,
            exact_but_for_ties(),
            sentence="after the causal mask is added again, open exactly the visible selected columns",
        ),
    },
    cost=cost,
    rows=lambda w: w.rows,
    checks=CHECKS,
    stages=("fill", "scatter"),
    of_model=of_model,
    complete=complete,
)
