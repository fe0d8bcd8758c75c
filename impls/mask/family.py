"""Mask: open the selected columns of every row, close all others.

MLA's indexer picks `topk` of `seq` columns for each of `rows` queries; attention then adds a mask
that is 0 at the picked columns and hugely negative elsewhere (MaxText `generate_mask`, pull
requests #4261 and #4437). The closed value is −0.7 times the largest float32: half as much again
must not overflow. float16 cannot hold it, so that dtype is refused.

The defaults are #4261's batch and selection, with 128 rows of its 1024.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness import Array, Cost, Family, Semantics, Shapes, Unsupported, axis, cast, exact

from .reference import selected, threshold

BYTES = {"f64": 8, "f32": 4, "bf16": 2}


@dataclass(frozen=True)
class MaskWorkload:
    """`rows` queries each select `topk` of `seq` columns; `dtype` is that of scores and mask."""

    batch: int = axis(1)
    rows: int = axis(128)
    seq: int = axis()
    topk: int = axis(2048)
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))


def shapes(w: MaskWorkload) -> Shapes:
    if w.dtype == "f16":
        raise Unsupported("float16 cannot hold the closed value −2.4e38; use bf16 or f32")
    if w.topk >= w.seq:
        raise Unsupported(
            f"topk {w.topk} selects all of seq {w.seq}: the indexer is bypassed; use a larger seq"
        )
    return {
        "topk_indices": Array((w.batch, w.rows, w.topk), "i32"),
        "scores": Array((w.batch, w.rows, w.seq), w.dtype),
        "topk_values": Array((w.batch, w.rows, w.topk), w.dtype),
    }


def inputs(w: MaskWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal scores rounded to the dtype, and what `lax.top_k` selects from them.

    Rounding comes first, so in bf16 scores tie, also at the cutoff.
    """
    import numpy as np

    drawn = np.float64 if w.dtype == "f64" else np.float32
    scores = cast(rng.standard_normal((w.batch, w.rows, w.seq), dtype=drawn), w.dtype)
    indices = np.empty((w.batch, w.rows, w.topk), np.int32)
    values = np.empty(indices.shape, scores.dtype)
    for row in np.ndindex(w.batch, w.rows):
        wide = scores[row].astype(drawn)
        indices[row] = _top(wide, w.topk)
        values[row] = scores[row][indices[row]]
    return {"topk_indices": indices, "scores": scores, "topk_values": values}


def _top(row: Any, k: int) -> Any:
    """Indices of the k largest of a row, descending; equal values in the order of their index."""
    import numpy as np

    cutoff = np.partition(row, -k)[-k]
    above = np.flatnonzero(row > cutoff)
    tied = np.flatnonzero(row == cutoff)[: k - len(above)]
    return np.concatenate([above[np.argsort(-row[above], kind="stable")], tied])


def cost(w: MaskWorkload) -> Cost:
    """Bytes: read the indices, write the mask. Dense: a comparison and an OR per row, pick and column."""
    rows = w.batch * w.rows
    return Cost(
        bytes=rows * (w.topk * 4 + w.seq * BYTES.get(w.dtype, 4)),
        dense_flops=2.0 * rows * w.topk * w.seq,
    )


FAMILY = Family(
    name="mask",
    question="How is a mask over all columns made from the selected ones?",
    workload=MaskWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "exact": Semantics("exact", selected, exact(), sentence="open exactly the selected columns"),
        "threshold": Semantics(
            "threshold",
            threshold,
            exact(),
            sentence="open every column that scores no less than the least selected one",
        ),
    },
    cost=cost,
    rows=lambda w: w.rows,
)
