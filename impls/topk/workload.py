"""The workload of a top-k: rows of scores, or what an indexer computes them from."""

from __future__ import annotations

from dataclasses import dataclass

from harness import axis

DISTRIBUTIONS = ("iid", "clustered", "periodic", "tied", "causal", "narrow")


@dataclass(frozen=True)
class TopkWorkload:
    """`rows` queries with `seq` scores each; `recall` is judged in the semantics of that name only.

    In stage `indexer` the scores are those of `heads` indexer heads of width `head_dim`, and rows and
    keys may lie on `devices` devices in a line called `axis`: `rows` and `seq` are those of all together.
    """

    batch: int = axis(1)  # independent sets of rows
    rows: int = axis(128)  # queries of one batch entry
    seq: int = axis()  # scores of a query
    topk: int = axis(2048)  # scores that a query keeps
    recall: float = axis(0.95)  # share of the true ones that must be found, 0 to 1
    distribution: str = axis("iid", choices=DISTRIBUTIONS)  # how scores are drawn
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))  # of scores
    stage: str = axis("select", choices=("select", "indexer"), later=True)  # given scores, or an indexer's
    heads: int = axis(64, later=True)  # of the indexer
    head_dim: int = axis(128, later=True)  # elements of an indexer's head
    devices: int = axis(1, later=True)  # that rows and keys lie on
    axis: str = axis("context", choices=("context",), later=True)  # last: from here on the name is this
