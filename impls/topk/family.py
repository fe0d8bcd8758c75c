"""Top-k: the largest scores of every row, with their indices.

The indexer of sparse attention does this in every layer. MaxText #4243 replaced `lax.top_k` by the
approximate operator, judged by its mean recall on normal scores. Real scores are not normal, and the
positions of the large ones decide what a bucketed method loses. Therefore `distribution` is part of the
workload, as is the required `recall`. In stage `indexer` the scores are computed, not given; in stage
`attention` the selection is also masked and attended to.

The defaults are #4243's: selection 2048, recall 0.95, 128 of its 1024 rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Cost, Family, Semantics, Shapes, Unsupported, cast, draw_scores

from ._checks.table import CHECKS
from ._contracts import EXACT, RECALL
from ._model import of_model
from ._stage import only
from .indexer._attention import attention_cost, attention_inputs, attention_shapes
from .indexer._attention_contracts import ATTENDED_EXACT, ATTENDED_RECALL
from .indexer._indexer import BYTES, indexer_cost, indexer_inputs, indexer_shapes, indexer_sharding
from .indexer._indexer_contracts import EXACT_SCORED, RECALL_SCORED
from .reference import attention_to_selection, largest, largest_of_indexer
from .workload import DISTRIBUTIONS, TopkWorkload

__all__ = ["DISTRIBUTIONS", "FAMILY", "TopkWorkload", "cost", "inputs", "shapes"]


def shapes(w: TopkWorkload) -> Shapes:
    if w.topk >= w.seq:
        raise Unsupported(f"topk {w.topk} selects all of seq {w.seq}; use a larger seq")
    if not 0 < w.recall <= 1:
        raise Unsupported(f"recall {w.recall:g} is not a share; use a number above 0 and at most 1")
    if w.stage == "indexer":
        return indexer_shapes(w)
    if w.stage == "attention":
        return attention_shapes(w)
    if w.devices > 1:
        raise Unsupported(f"devices {w.devices}: given scores are on one; use stage=indexer or devices=1")
    return {"scores": Array((w.batch, w.rows, w.seq), w.dtype)}


def inputs(w: TopkWorkload, rng: Any) -> Mapping[str, Any]:
    """Scores [batch, rows, seq], rounded to the dtype last; −inf if a causal mask closes a column.

    Distributed as :func:`draw_scores` says, `clustered` in runs of `topk`; `causal` is normal, and row i of n
    sees the first (i + 1)/n. In the other stages the inputs are those from which scores are computed, all
    normal.
    """
    if w.stage == "indexer":
        return indexer_inputs(w, rng)
    if w.stage == "attention":
        return attention_inputs(w, rng)
    import numpy as np

    wide = np.float64 if w.dtype == "f64" else np.float32
    scores = draw_scores(w.distribution, (w.batch, w.rows, w.seq), w.topk, rng, wide)
    if w.distribution == "causal":
        visible = np.maximum((np.arange(w.rows)[:, None] + 1) * w.seq // w.rows, 1)
        scores[:, np.arange(w.seq) >= visible] = -np.inf
    return {"scores": cast(scores, w.dtype)}


def cost(w: TopkWorkload) -> Cost:
    """Bytes: read every score, write the selected values and their int32 indices.

    Selection only compares and moves, so no FLOPs are counted.
    """
    width = BYTES[w.dtype]
    return Cost(bytes=w.batch * w.rows * (w.seq * width + w.topk * (width + 4)))


FAMILY = Family(
    name="topk",
    question="How are the largest scores of a long row found, and what does approximation lose?",
    workload=TopkWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "exact": Semantics(
            "exact", largest, EXACT, sentence="the k largest scores, in any order", refuse=only("select")
        ),
        "recall": Semantics(
            "recall",
            largest,
            RECALL,
            sentence="k scores; on average the workload's recall are among the k largest",
            refuse=only("select"),
        ),
        "indexer": Semantics(
            "indexer",
            largest_of_indexer,
            EXACT_SCORED,
            sentence="the k largest scores of DeepSeek's lightning indexer, in any order",
            cost=indexer_cost,
            refuse=only("indexer"),
        ),
        "indexer_recall": Semantics(
            "indexer_recall",
            largest_of_indexer,
            RECALL_SCORED,
            sentence="k of an indexer's scores; on average the workload's recall are among the k largest",
            cost=indexer_cost,
            refuse=only("indexer"),
        ),
        "attention": Semantics(
            "attention",
            attention_to_selection,
            ATTENDED_EXACT,
            sentence="softmax attention over what an indexer selects, and the selection",
            cost=attention_cost,
            refuse=only("attention"),
        ),
        "attention_recall": Semantics(
            "attention_recall",
            attention_to_selection,
            ATTENDED_RECALL,
            sentence="attention over k columns of which the workload's recall are among the k largest",
            cost=attention_cost,
            refuse=only("attention"),
        ),
    },
    cost=cost,
    rows=lambda w: w.rows,
    checks=CHECKS,
    sharding=indexer_sharding,
    stages=(
        "encode",
        "sample",
        "maxima",
        "histogram",
        "compare",
        "compact",
        "select",
        "gather",
        "indexer",
        "topk",
        "mask",
        "attention",
    ),
    of_model=of_model,
)
