"""References in double precision, row block by row block, with a mask of what is attended to.

Each semantics is the formula over all keys of a row, with −inf for keys that are not visible. Nothing is
gathered and no tile is skipped, so this shares no code and no shortcut with the implementations.

Packed sequences are independent: tiles and blocks of each begin at its start. Its last block has the
remaining tokens, and its mean is over those: no other rule leaves every token in every branch and adds none.
The answer for a sequence therefore does not depend on what it is packed with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from harness import Unsupported

from .._stage import in_stage
from ..workload import AttentionWorkload

SCORES = 1 << 23  # scores of a block of rows: 64 MiB in f64


def dense(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """softmax(q·k/√d) over visible keys: those of the query's segment, up to the query if causal."""
    import torch

    def answer(q, k, v, cu_seqlens=None):
        keys = torch.arange(w.seq, device=q.device)
        cuts = keys[:0] if cu_seqlens is None else cu_seqlens[1:].long()
        segment = torch.searchsorted(cuts, keys, right=True)

        def block(t, q, k, v):
            visible = segment[t][:, None] == segment
            if w.causal:
                visible = visible & (keys <= t[:, None])
            return attend(q, k, v, visible)

        return by_blocks(block, w, rows, q, k, v)

    return answer


def nsa(w: AttentionWorkload, rows: Any, *, sparse_compressed: bool = False) -> Callable[..., Any]:
    """The gated sum of three softmaxes: over block means, selected blocks and the sliding window.

    Query t sees the mean of block j iff j·l ≤ t, which includes its own block and so tokens after t: that
    leak is part of the semantics. In the selected blocks and in the window it sees no key after itself. A
    branch in which it sees nothing gives 0.
    """
    import torch

    refuse(w)

    def alone(w, rows, q, k, v, gates):
        means = [block_means(x, w.block) for x in (k, v)]
        keys = torch.arange(w.seq, device=q.device)
        starts = keys[:: w.block]
        with torch.no_grad():
            scored = block_scores(w, q, k)

        def block(t, queries, k, v, means):
            tiles, tile = torch.unique(t // w.tile, return_inverse=True)
            with torch.no_grad():
                scores = scored(tiles)
                chosen = mark_picks(scores, w.selected)[:, :, tile]
                shown = starts <= t[:, None]
                if sparse_compressed:
                    groups = mark_picks(group_scores(w, scores), w.compressed_selected)
                    shown = shown & _spread(groups, w.compressed_block, len(starts))[:, :, tile]
                past = keys <= t[:, None]
                recent = past & (keys > t[:, None] - w.window)
            compressed = attend(queries, means[0], means[1], shown)
            selected = attend(queries, k, v, past & _spread(chosen, w.block, w.seq))
            window = attend(queries, k, v, recent)
            branches = torch.stack([compressed, selected, window], -1)
            share = 1 / 3 if gates is None else gates[:, t, :, None]
            return (branches * share).sum(-1)

        return by_blocks(block, w, rows, q, k, v, means)

    return per_sequence(w, rows, alone)


def per_sequence(w: AttentionWorkload, rows: Any, alone: Any) -> Callable[..., Any]:
    """`alone(w, rows, q, k, v, gates)` of the batch, or of every packed sequence, joined."""

    def answer(q, k, v, gates=None, cu_seqlens=None):
        if cu_seqlens is None:
            return alone(w, rows, q, k, v, gates)

        def each(t, part):
            sequence = replace(w, varlen=False, seq=part.stop - part.start)
            shares = None if gates is None else gates[:, part]
            return alone(sequence, t, q[:, part], k[:, part], v[:, part], shares)

        return by_sequence(w, rows, q, cu_seqlens, each)

    return answer


def by_sequence(w: AttentionWorkload, rows: Any, q: Any, cu_seqlens: Any, each: Any) -> Any:
    """`each(t, part)` for every packed sequence: its rows' positions in it, and its slice; joined."""
    import torch

    chosen = torch.arange(w.seq) if rows is None else torch.as_tensor(rows)
    chosen = chosen.to(q.device, torch.long)
    cuts = [0, w.seq] if cu_seqlens is None else cu_seqlens.tolist()
    order, results = [], []
    for begin, end in pairwise(cuts):
        inside = torch.nonzero((chosen >= begin) & (chosen < end)).flatten()
        if len(inside):
            order.append(inside)
            results.append(each(chosen[inside] - begin, slice(begin, end)))
    return torch.cat(results, 1)[:, torch.argsort(torch.cat(order))]


def refuse(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` for what the sparse semantics do not define, naming the field."""
    in_stage(w, "attention")
    if not w.causal:
        raise Unsupported("causal=false: sparse selection is defined only for causal attention; use dense")
    if not w.varlen and w.seq % w.block:
        raise Unsupported(f"seq {w.seq} is not a multiple of block {w.block}; choose a multiple")


def block_scores(w: AttentionWorkload, q: Any, k: Any) -> Callable[[Any], Any]:
    """A function of tile numbers [n] that returns every block's score [b, heads, n, blocks].

    A tile's queries are averaged, scaled and multiplied with the mean keys, for every query head. Blocks that
    start after the tile's end score −inf.
    """
    return means_scores(w, q, block_means(k, w.block))


def means_scores(w: AttentionWorkload, q: Any, mean_k: Any) -> Callable[[Any], Any]:
    """Like `block_scores`, with given mean keys."""
    import torch

    starts = torch.arange(mean_k.shape[1], device=q.device) * w.block

    def scores(tiles):
        mean_q = [q[:, i * w.tile : (i + 1) * w.tile].mean(1) for i in tiles.tolist()]
        scored = products(torch.stack(mean_q, 1), mean_k)
        return scored.masked_fill(starts >= (tiles[:, None] + 1) * w.tile, -torch.inf)

    return scores


def group_scores(w: AttentionWorkload, scores: Any) -> Any:
    """Mean score of each group of block means, [b, heads, n, groups]; −inf if it starts after the tile.

    In upstream a group's mean includes its blocks beyond the tile, a leak of selection, and an incomplete
    last group fails. Here the mean is over the blocks that the tile may read: nothing later than the tile
    decides.
    """
    import torch

    parts = scores.split(w.compressed_block, -1)
    counts = [part.isfinite().sum(-1) for part in parts]
    sums = [part.masked_fill(part.isinf(), 0).sum(-1) for part in parts]
    means = [torch.where(n > 0, total / n, -torch.inf) for total, n in zip(sums, counts, strict=True)]
    return torch.stack(means, -1)


def mark_picks(scores: Any, count: int) -> Any:
    """True at the `count` highest finite scores of the last axis."""
    import torch

    values, indices = scores.topk(min(count, scores.shape[-1]), -1)
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, indices, values.isfinite())


def _spread(blocks: Any, size: int, length: int) -> Any:
    """A choice of blocks as a choice of their elements."""
    return blocks.repeat_interleave(size, -1)[..., :length]


def block_means(x: Any, block: int) -> Any:
    import torch

    return torch.stack([part.mean(1) for part in x.split(block, 1)], 1)


def products(q: Any, k: Any) -> Any:
    """q·k/√d, [b, heads, rows, keys]: query head h reads key head h // (heads/kv_heads)."""
    import torch

    grouped = q.unflatten(2, (k.shape[2], -1))
    return torch.einsum("brkgd,bnkd->bkgrn", grouped, k).flatten(1, 2) / q.shape[-1] ** 0.5


def attend(q: Any, k: Any, v: Any, visible: Any) -> Any:
    """softmax(q·k/√d)·v over the visible keys, [b, rows, heads, d]; 0 for a query that sees none."""
    import torch

    some = visible.any(-1, keepdim=True)
    scores = products(q, k).masked_fill(~visible & some, -torch.inf)
    weights = (torch.softmax(scores, -1) * some).unflatten(1, (k.shape[2], -1))
    return torch.einsum("bkgrn,bnkd->brkgd", weights, v).flatten(2, 3)


def by_blocks(block: Any, w: AttentionWorkload, rows: Any, q: Any, *others: Any) -> Any:
    """`block(t, q[:, t], …)` over blocks of rows; a backward computes each block again."""
    import torch

    chosen = torch.arange(w.seq) if rows is None else torch.as_tensor(rows)
    size = max(1, SCORES // (w.batch * w.heads * w.seq))
    blocks = chosen.to(q.device, torch.long).split(size)
    return torch.cat([compute_block(block, t, q[:, t], *others) for t in blocks], 1)


def compute_block(block: Any, *arguments: Any) -> Any:
    """`block(*arguments)`; if a backward follows, only the arguments are stored for it."""
    import torch

    if not torch.is_grad_enabled():  # checkpoint's first call imports torch.compile, for more than a second
        return block(*arguments)
    from torch.utils.checkpoint import checkpoint

    return checkpoint(block, *arguments, use_reentrant=False, preserve_rng_state=False)
