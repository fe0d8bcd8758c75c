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
from ._branches import (
    attend_compressed,
    attend_selected,
    attend_window,
    block_means,
    gated_sum,
    pad_to_multiple,
    table,
)
from ._packed import packed, padded
from ._selection import kernel_blocks, select_blocks
from ._stage import in_stage
from .reference_upstream import KERNEL_BLOCK, refuse_upstream
from .workload import AttentionWorkload

STEP_BYTES = 512 << 20
STEP_TILES = 8
CACHED_BYTES = 32 << 20
MOST_STEPS = 256  # a program longer than that takes long to trace, and gains nothing


def attention(
    w: AttentionWorkload, *, sparse_compressed: bool, upstream: bool = False, pad: bool = False
) -> Callable[..., Any]:
    """The callable of all variants. Unsupported names the field that their semantics leave out.

    `upstream` reads the kernel's blocks instead of the selected ones, and one more key per window.
    `pad` takes packed sequences as a batch, as long as the longest.
    """
    _refuse(w)
    if upstream:
        refuse_upstream(w)
    if not w.varlen:
        return _alone(w, sparse_compressed=sparse_compressed, upstream=upstream)

    def each(q: Any, *others: Any) -> Any:
        sequence = replace(w, varlen=False, seq=q.shape[1])
        return _alone(sequence, sparse_compressed=sparse_compressed, upstream=upstream)(q, *others)

    def together(lengths: Any, q: Any, *others: Any) -> Any:
        batch = replace(w, varlen=False, batch=q.shape[0], seq=q.shape[1])
        return _alone(batch, sparse_compressed=sparse_compressed, upstream=upstream, lengths=lengths)(
            q, *others
        )

    return padded(together, gated=w.gated) if pad else packed(each, gated=w.gated)


def _alone(
    w: AttentionWorkload, *, sparse_compressed: bool, upstream: bool, lengths: Any = None
) -> Callable[..., Any]:
    """One sequence of any length, or a batch of them; with `lengths` zeros stand behind each one's tokens."""
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
            scoring = block_means(k.detach(), w.block, wide, lengths)
            means = [block_means(x, w.block, lengths=lengths) for x in (k, v)]
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
                    coarse = attend_compressed(w, query, first, means)
            with stage("selected"):
                fine = attend_selected(
                    w, query, first, blocks, selected, stride=1, distinct=not upstream, canvas=canvas
                )
            with stage("window"):
                recent = attend_window(local, query, first, near)
            with stage("gate"):
                return gated_sum((coarse, fine, recent), shares)

        queries = whole(q).split(span, 1)
        shares = [None] * len(queries) if gates is None else whole(gates).split(span, 1)

        def steps():
            for i, query in enumerate(queries):
                oldest = max(0, i - -(-back // span))
                near = keys[oldest : i + 1], values[oldest : i + 1]
                with torch.no_grad(), stage("select"):
                    picks = select_blocks(w, query, scoring, i * span, group, lengths)
                    if upstream:
                        picks = kernel_blocks(w, picks[0]), picks[1]
                yield step(i * span, query, shares[i], near, picks)

        if torch.is_grad_enabled():
            return torch.cat([*steps()], 1)[:, : w.seq]
        result = torch.empty_like(q)
        for part, found in zip(result.split(span, 1), steps(), strict=True):
            part.copy_(found[:, : part.shape[1]])
        return result

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
