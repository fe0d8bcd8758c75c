"""Workload of a mask: rows of columns, and how many of them are selected."""

from __future__ import annotations

from dataclasses import dataclass

from harness import SCORE_DISTRIBUTIONS, Workload, axis


@dataclass(frozen=True)
class MaskWorkload(Workload):
    """`rows` queries each select `topk` of `seq` columns; `dtype` is that of scores and mask.

    `head_dim` is the width of queries, keys and values for attention with the mask; at 0, the default, there
    are none. `causal` places the queries evenly over the columns, the last at the end, and hides later
    columns from each.
    """

    batch: int = axis(1)  # independent rows of masks
    rows: int = axis(128)  # queries of one batch entry
    seq: int = axis()  # columns a query may see
    topk: int = axis(2048)  # columns that a query selects
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))  # of scores and mask
    head_dim: int = axis(0, minimum=0, later=True)  # elements of a query, key and value; 0: no attention
    causal: bool = axis(False, later=True)  # hide columns after a query's own position
    distribution: str = axis(
        "iid", choices=SCORE_DISTRIBUTIONS, captured=True, later=True
    )  # how scores are drawn
