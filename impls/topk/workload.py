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

    batch: int = axis(1)
    rows: int = axis(128)
    seq: int = axis()
    topk: int = axis(2048)
    recall: float = axis(0.95)
    distribution: str = axis("iid", choices=DISTRIBUTIONS)
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))
    stage: str = axis("select", choices=("select", "indexer"), later=True)
    heads: int = axis(64, later=True)
    head_dim: int = axis(128, later=True)
    devices: int = axis(1, later=True)
    axis: str = axis("context", choices=("context",), later=True)  # last: from here on the name is this
