"""Marks rows for which rounding alone may decide which blocks are selected.

Rounding errors are taken as independent, of mean zero and at most u = 2^-24 (2^-53 in f64), the model of
Higham & Mary (SIAM J. Sci. Comput. 41, 2019), with scores computed in f32 from exact inputs in any order of
summation. A partial sum of n terms x, in any order, is at most about |Σx| + ‖x‖₂, so a sum has an error of
standard deviation √n u (|Σx| + ‖x‖₂). That enters the mean query, the mean key and their product. The worst
case instead of the typical one would be some thousand times wider, and mark most rows of a long sequence. Two
scores closer than 6 standard deviations of each may change order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..workload import AttentionWorkload
from .attention import by_sequence, group_scores, means_scores, refuse

DEVIATIONS = 6
OTHER_ROUNDINGS = 4  # the scale, two divisions by a count, storing the score


def ambiguous(w: AttentionWorkload, rows: Any, *, sparse_compressed: bool = False) -> Callable[..., Any]:
    """Build a function of (q, k) that marks, [b, rows, heads], the rows of tiles with a near tie."""
    import torch

    refuse(w)

    def marks(q, k, cu_seqlens=None):
        def each(t, part):
            return alone(replace(w, varlen=False, seq=part.stop - part.start), t, q[:, part], k[:, part])

        return by_sequence(w, rows, q, cu_seqlens, each)

    def alone(w, chosen, q, k):
        tiles, tile = torch.unique(chosen.to(q.device, torch.long) // w.tile, return_inverse=True)
        means = mean_keys(w, k)
        near = [
            near_ties(w, q, *means, some, sparse_compressed=sparse_compressed) for some in tiles.split(16)
        ]
        return torch.cat(near, -1)[:, :, tile].transpose(1, 2)

    return marks


def mean_keys(w: AttentionWorkload, k: Any) -> tuple[Any, Any]:
    """Mean keys of blocks, and their errors in units of u."""
    import torch

    blocks = k.split(w.block, 1)
    errors = [_sum_error(x, 1) / x.shape[1] for x in blocks]
    return torch.stack([x.mean(1) for x in blocks], 1), torch.stack(errors, 1)


def near_ties(
    w: AttentionWorkload, q: Any, means: Any, mean_error: Any, tiles: Any, *, sparse_compressed: bool = False
) -> Any:
    """[b, heads, tiles]: true if the last picked and the first rejected block are too close.

    `mean_error` is that of the mean keys, in units of u; 0 if they are given.
    """
    import torch

    scores = means_scores(w, q, means)(tiles)
    error = _deviation(w, q, means, mean_error, tiles).masked_fill(scores.isinf(), 0).amax(-1)
    near = _gap(scores, w.selected) <= 2 * DEVIATIONS * error
    if sparse_compressed:
        finite = scores.masked_fill(scores.isinf(), 0)
        parts = finite.split(w.compressed_block, -1)
        sums = torch.stack([_sum_error(part, -1) for part in parts], -1).amax(-1) / w.compressed_block
        gap = _gap(group_scores(w, scores), w.compressed_selected)
        near = near | (gap <= 2 * DEVIATIONS * torch.hypot(error, _unit(w) * sums))
    return near


def _deviation(w: AttentionWorkload, q: Any, means: Any, mean_error: Any, tiles: Any) -> Any:
    """Standard deviation of a score's error, [b, heads, tiles, blocks]."""
    import torch

    queries = [q[:, i * w.tile : (i + 1) * w.tile] for i in tiles.tolist()]
    mean_q = torch.stack([x.mean(1) for x in queries], 2)
    error_q = torch.stack([_sum_error(x, 1) / x.shape[1] for x in queries], 2)
    mean_k, error_k = means.transpose(1, 2), mean_error.transpose(1, 2)

    def products(a, b):
        grouped = a.transpose(1, 2).unflatten(2, (w.kv_heads, -1))
        return torch.einsum("btkgd,bkjd->bkgtj", grouped, b).flatten(1, 2)

    # errors of the factors, and of the sum over the head dimension, add in quadrature
    variance = products(error_q**2, mean_k**2) + products(mean_q**2, error_k**2)
    terms = products(mean_q**2, mean_k**2).sqrt() + products(mean_q, mean_k).abs()
    rounding = (w.head_dim**0.5 + OTHER_ROUNDINGS) * terms
    return _unit(w) * (variance + rounding**2).sqrt() / w.head_dim**0.5


def _sum_error(x: Any, axis: int) -> Any:
    """√n (|Σx| + ‖x‖₂) along an axis."""
    return x.shape[axis] ** 0.5 * (x.sum(axis).abs() + x.norm(dim=axis))


def _gap(scores: Any, count: int) -> Any:
    """Gap from the `count`-th highest score to the next; infinite or NaN if no finite score is rejected."""
    import torch

    if scores.shape[-1] <= count:
        return torch.full_like(scores[..., 0], torch.inf)
    highest = scores.topk(count + 1, -1).values
    return highest[..., count - 1] - highest[..., count]


def _unit(w: AttentionWorkload) -> float:
    return 2.0**-53 if w.dtype == "f64" else 2.0**-24
