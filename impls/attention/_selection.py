"""Selection: for each tile of queries and each head, pick the blocks of highest mean score.

mean(Q·K) = mean(Q)·K: a tile's mean query is scored once, while scoring each of its queries would take `tile`
times as many FLOPs.
"""

from __future__ import annotations

from typing import Any

from harness import stage

from .workload import KERNEL_BLOCK, AttentionWorkload


def select_blocks(
    w: AttentionWorkload,
    query: Any,
    scoring: Any,
    first: int,
    group: int,
    lengths: Any = None,
    *,
    share: bool = True,
) -> tuple[Any, Any]:
    """Selected blocks [b·heads, tiles, selected] and groups of block means (None if all are read).

    A pick that starts after its tile is −1. Scores are computed in f32 or better, once for both if they
    `share` them, else once for each. `lengths` are those of a batch's sequences, if they are not all `seq`.
    """
    import torch

    scores, future = _score(w, query, scoring, first, lengths)
    picks = _top(scores.masked_fill(future, -torch.inf), w.selected)
    if not group:
        return picks, None
    if not share:
        scores, future = _score(w, query, scoring, first, lengths)
    fill = (0, -scores.shape[-1] % group)
    visible = torch.nn.functional.pad(~future, fill).unflatten(-1, (-1, group)).sum(-1)
    totals = torch.nn.functional.pad(scores.masked_fill(future, 0), fill).unflatten(-1, (-1, group)).sum(-1)
    means = (totals / visible.clamp(min=1)).masked_fill(visible == 0, -torch.inf)
    return picks, _top(means, w.compressed_selected)


def _score(w: AttentionWorkload, query: Any, scoring: Any, first: int, lengths: Any) -> tuple[Any, Any]:
    """Scores [b·heads, tiles, blocks] of tiles' mean queries, and which blocks begin after a tile."""
    import torch

    starts = torch.arange(first, first + query.shape[1], w.tile, device=query.device)
    ends = w.seq if lengths is None else lengths[:, None]
    counts = (ends - starts).clamp(1, w.tile)[..., None, None]
    # A mean over the tile's real queries: padding after the sequence is zeros, and adds nothing.
    mean = query.unflatten(1, (-1, w.tile)).sum(2, dtype=scoring.dtype) / counts * w.head_dim**-0.5
    blocks = -(-min(w.seq, first + query.shape[1]) // w.block)
    grouped = mean.unflatten(2, (w.kv_heads, -1))
    with stage("score"):
        scores = torch.einsum("btkgd,bjkd->bkgtj", grouped, scoring[:, :blocks]).flatten(0, 2)
    # Up to the tile's end, not each query's: MSLK selects once per tile, so later queries affect earlier
    # ones' picks.
    future = torch.arange(0, blocks * w.block, w.block, device=query.device) >= starts[:, None] + w.tile
    if lengths is not None:
        beyond = torch.arange(0, blocks * w.block, w.block, device=query.device) >= ends
        future = (future | beyond[:, None]).repeat_interleave(w.heads, 0)
    return scores, future


def kernel_blocks(w: AttentionWorkload, picks: Any) -> Any:
    """Blocks of the kernel for picks, −1 for none: missing picks are block 0; small blocks are merged."""
    import torch

    exist = min(w.selected, -(-w.seq // w.block))
    picks = torch.nn.functional.pad(picks.clamp(min=0), (0, exist - picks.shape[-1]))
    if w.block >= KERNEL_BLOCK:
        parts = w.block // KERNEL_BLOCK
        return (picks[..., None] * parts + torch.arange(parts, device=picks.device)).flatten(-2)
    ordered = (picks * w.block // KERNEL_BLOCK).sort(-1).values
    again = torch.nn.functional.pad(ordered[..., 1:] == ordered[..., :-1], (1, 0))
    return ordered.masked_fill(again, -1)


def _top(scores: Any, count: int) -> Any:
    import torch

    values, indices = scores.topk(min(count, scores.shape[-1]), -1)
    return indices.masked_fill(values == -torch.inf, -1)
