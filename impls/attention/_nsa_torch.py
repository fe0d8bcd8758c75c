"""MSLK's native sparse attention in torch: three branches, a few tiles of queries at a time.

All queries of a tile share a selection, so the selected blocks are gathered once per tile and head,
and every branch is one masked attention kernel over few keys. A step takes as many tiles as fit
`STEP_BYTES`, and few enough for a CPU's cache where nothing is differentiated: nothing of the size
seq × seq exists. A backward gathers each step's keys again, and adds to whole gradients once a step;
the selection itself has no gradient.

Packed sequences are attended one after the other, each on its own: its tiles and blocks begin at its
start, and its last block has the tokens that are left. Upstream drops these in one entry point and
fills them with zeros in another; the first hides a sequence's end from two branches, the second
shrinks a mean by tokens that do not exist. Its last tile is scored as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness import Unsupported, stage

from ._bounds import BYTES
from ._branches import attend_compressed, attend_selected, attend_window, block_means, pad_to_multiple, table
from ._packed import packed
from ._stage import in_stage
from .reference_upstream import KERNEL_BLOCK, refuse_upstream
from .workload import AttentionWorkload

STEP_BYTES = 512 << 20
STEP_TILES = 8
CACHED_BYTES = 32 << 20
MOST_STEPS = 256  # a program longer than that takes long to trace, and gains nothing


def attention(w: AttentionWorkload, *, sparse_compressed: bool, upstream: bool = False) -> Callable[..., Any]:
    """The callable of all variants. Unsupported names the field that their semantics leave out.

    `upstream` reads the kernel's blocks instead of the selected ones, and one more key per window.
    """
    _refuse(w)
    if upstream:
        refuse_upstream(w)
    if not w.varlen:
        return _alone(w, sparse_compressed=sparse_compressed, upstream=upstream)

    def each(q: Any, *others: Any) -> Any:
        sequence = replace(w, varlen=False, seq=q.shape[1])
        return _alone(sequence, sparse_compressed=sparse_compressed, upstream=upstream)(q, *others)

    return packed(each, gated=w.gated)


def _alone(w: AttentionWorkload, *, sparse_compressed: bool, upstream: bool) -> Callable[..., Any]:
    """One sequence of any length, or a batch of them."""
    import torch
    from torch.nn.functional import pad

    group = w.compressed_block if sparse_compressed and _groups(w) > w.compressed_selected else 0
    size = KERNEL_BLOCK if upstream else w.block
    local = replace(w, window=w.window + 1) if upstream else w
    read = replace(local, block=max(w.block, size))
    back = min(local.window, w.seq) - 1
    rest = -w.seq % w.tile

    def whole(x):
        return pad(x, (0, 0, 0, 0, 0, rest)) if rest else x  # padding by nothing would copy

    def nsa(q, k, v, gates=None):
        cached = q.device.type == "cpu" and not torch.is_grad_enabled()
        tiles = _tiles_per_step(read, group, STEP_BYTES)
        if cached:
            few = _tiles_per_step(read, group, CACHED_BYTES)
            tiles = min(tiles, max(few, _tiles_at_least(w)))
        span = w.tile * tiles
        wide = torch.promote_types(q.dtype, torch.float32)
        with stage("compress"):
            scoring = block_means(k.detach(), w.block, wide)
            means = [block_means(x, w.block) for x in (k, v)]
            shared = [x.transpose(1, 2).repeat_interleave(w.heads // w.kv_heads, 1) for x in means]
            groups = [table(pad_to_multiple(x, group), group) for x in means if group]
        with stage("selected"):
            blocks = [table(pad_to_multiple(x, max(w.block, size)), size) for x in (k, v)]
        keys, values = (whole(x).split(span, 1) for x in (k, v))
        canvas = None
        if w.seq > span and (q.device.type == "cpu" or not torch.is_grad_enabled()):
            # one mask for all steps: a backward draws it again for each, and reads it before the next
            chosen = min(w.selected, -(-w.seq // w.block)) * w.block
            canvas = q.new_zeros(w.batch * w.heads, span // w.tile, w.tile, chosen)

        def step(first, query, shares, near, picks):
            selected, selected_groups = picks
            with stage("compressed"):
                if group:
                    coarse = attend_selected(w, query, first, groups, selected_groups, stride=w.block)
                else:
                    coarse = attend_compressed(w, query, first, shared)
            with stage("selected"):
                fine = attend_selected(
                    w, query, first, blocks, selected, stride=1, distinct=not upstream, canvas=canvas
                )
            with stage("window"):
                recent = attend_window(local, query, first, near)
            with stage("gate"):
                a, b, c = (x.to(wide) for x in (coarse, fine, recent))
                if shares is None:
                    return ((a + b + c) / 3).to(q.dtype)
                of_a, of_b, of_c = shares.to(wide).unsqueeze(-1).unbind(3)
                return (a * of_a + b * of_b + c * of_c).to(q.dtype)

        queries = whole(q).split(span, 1)
        shares = [None] * len(queries) if gates is None else whole(gates).split(span, 1)
        results = []
        for i, query in enumerate(queries):
            oldest = max(0, i - -(-back // span))
            near = keys[oldest : i + 1], values[oldest : i + 1]
            with torch.no_grad(), stage("select"):
                picks = _select(w, query, scoring, i * span, group)
                if upstream:
                    picks = kernel_blocks(w, picks[0]), picks[1]
            results.append(step(i * span, query, shares[i], near, picks))
        return torch.cat(results, 1)[:, : w.seq]

    return nsa


def _refuse(w: AttentionWorkload) -> None:
    in_stage(w, "attention")
    if not w.causal:
        raise Unsupported("causal=false: blocks are selected causally; use causal=true or attention/dense")
    if not w.varlen and w.seq % w.block:
        raise Unsupported(f"seq {w.seq} is no multiple of block {w.block}; choose one that is")


def _groups(w: AttentionWorkload) -> int:
    return -(-w.seq // (w.block * w.compressed_block))


def _tiles_per_step(w: AttentionWorkload, group: int, limit: int) -> int:
    """How many tiles' gathered keys and values, and masks as booleans and numbers, fit `limit` bytes."""
    size = BYTES[w.dtype]
    gathered = min(w.selected * w.block, w.seq) + w.compressed_selected * group
    local = w.tile + min(w.window, w.seq)
    per_head = gathered * (2 * w.head_dim * size + w.tile * (1 + size)) + local * 2 * w.head_dim * size
    shared = w.tile * (1 + size) * (local + w.seq // w.block)
    fit = limit // (w.batch * w.heads * per_head + shared)
    return max(1, min(max(STEP_TILES, _tiles_at_least(w)), fit, -(-w.seq // w.tile)))


def _tiles_at_least(w: AttentionWorkload) -> int:
    """The fewest tiles of a step with which no more than `MOST_STEPS` steps are needed."""
    return -(-w.seq // (w.tile * MOST_STEPS))


def _select(w: AttentionWorkload, query: Any, scoring: Any, first: int, group: int) -> tuple[Any, Any]:
    """Selected blocks [b·heads, tiles, selected] and groups of block means (None if all are read).

    A pick that starts after its tile is −1. Scores are computed in f32 or better.
    """
    import torch

    starts = torch.arange(first, first + query.shape[1], w.tile, device=query.device)
    counts = (w.seq - starts).clamp(max=w.tile)[:, None, None]
    # A mean over the tile's real queries: those padded behind the sequence are zeros, and add nothing.
    mean = query.unflatten(1, (-1, w.tile)).sum(2, dtype=scoring.dtype) / counts * w.head_dim**-0.5
    blocks = -(-min(w.seq, first + query.shape[1]) // w.block)
    grouped = mean.unflatten(2, (w.kv_heads, -1))
    with stage("score"):
        scores = torch.einsum("btkgd,bjkd->bkgtj", grouped, scoring[:, :blocks]).flatten(0, 2)
    # Up to the tile's end, not each query's: MSLK selects once a
    # tile, so later queries steer earlier ones' picks.
    future = torch.arange(0, blocks * w.block, w.block, device=query.device) >= starts[:, None] + w.tile
    picks = _top(scores.masked_fill(future, -torch.inf), w.selected)
    if not group:
        return picks, None
    fill = (0, -blocks % group)
    visible = torch.nn.functional.pad(~future, fill).unflatten(-1, (-1, group)).sum(-1)
    totals = torch.nn.functional.pad(scores.masked_fill(future, 0), fill).unflatten(-1, (-1, group)).sum(-1)
    means = (totals / visible.clamp(min=1)).masked_fill(visible == 0, -torch.inf)
    return picks, _top(means, w.compressed_selected)


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
