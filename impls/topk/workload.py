"""Workload of a top-k: rows of scores, or the inputs from which an indexer computes them."""

from __future__ import annotations

from dataclasses import dataclass

from harness import SCORE_DISTRIBUTIONS, Workload, axis

DISTRIBUTIONS = (*SCORE_DISTRIBUTIONS, "causal")


@dataclass(frozen=True)
class TopkWorkload(Workload):
    """`rows` queries with `seq` scores each; `recall` is judged only in the semantics of that name.

    In stage `indexer` the scores are those of `heads` indexer heads of width `head_dim`, and rows and keys
    may be split over `devices` devices in a line called `axis`: `rows` and `seq` are totals over all. In
    stage `attention` all `attention_heads` heads attend to what the indexer selects, with queries and keys
    `key_dim` and values `value_dim` wide; the defaults are DeepSeek's MLA, with 16 of its 128 heads.
    """

    batch: int = axis(1)  # independent sets of rows
    rows: int = axis(128)  # queries of one batch entry
    seq: int = axis()  # scores of a query
    topk: int = axis(2048)  # scores that a query selects
    recall: float = axis(0.95)  # share of the true ones that must be found, 0 to 1
    distribution: str = axis("iid", choices=DISTRIBUTIONS, captured=True)  # how scores are drawn
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))  # of scores
    stage: str = axis(
        "select", choices=("select", "indexer", "attention"), later=True
    )  # given scores, an indexer's scores, or attention to the selection
    heads: int = axis(64, later=True)  # of the indexer
    head_dim: int = axis(128, later=True)  # elements of an indexer's head
    attention_heads: int = axis(16, later=True)  # that attend to the selection
    key_dim: int = axis(192, later=True)  # elements of their queries and keys
    value_dim: int = axis(128, later=True)  # elements of a value
    devices: int = axis(1, later=True)  # that rows and keys are split over
    axis: str = axis("context", choices=("context",), later=True)  # last: from here on the name is this
