"""MSLK's native sparse attention in torch: three branches, a few tiles of queries at a time.

All queries of a tile share a selection, so the selected blocks are gathered once per tile and head, and every
branch is one masked attention kernel over few keys. A step takes as many tiles as fit `STEP_BYTES`, and
without a backward few enough for a CPU's cache: nothing of size seq × seq exists. A backward gathers each
step's keys again, and adds to whole gradients once per step; the selection itself has no gradient.

Packed sequences are computed one after the other and independently: tiles and blocks of each begin at its
start, and its last block has the remaining tokens. Upstream drops these in one entry point and fills them
with zeros in another. The first hides a sequence's end from two branches; the second shrinks a mean by tokens
that do not exist. A sequence's last tile is scored like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness import Unsupported, stage

from .._bounds import BYTES
from .._branches import (
    attend_compressed,
    attend_selected,
    attend_window,
    block_means,
    branch_by_branch,
    gated_sum,
    pad_to_multiple,
    table,
    weighted_steps,
)
from .._packed import attend_each, attend_padded
from .._references.upstream import refuse_upstream
from .._selection import kernel_blocks, select_blocks
from .._stage import in_stage
from ..workload import KERNEL_BLOCK, AttentionWorkload
from ._recompute import recompute_by_branch

STEP_BYTES = 512 << 20
STEP_TILES = 8
CACHED_BYTES = 32 << 20
COARSE, FINE = 0, 1  # the branches over block means and over selected blocks; the window's comes last
SIDE_BY_SIDE, IN_PLACE, RECOMPUTED = "side by side", "in place", "recomputed"
MOST_STEPS = 256  # a longer program takes long to trace, and gains nothing


@dataclass(frozen=True)
class Form:
    """Differences of an implementation from `nsa_mslk`."""

    sparse_compressed: bool = False  # only selected groups of block means are read
    upstream: bool = False  # the kernel's blocks are read, and one more key per window
    skip: bool = True  # block means after a step's queries are skipped instead of masked
    share: bool = True  # blocks and groups are picked by the same scores, computed once
    whole: str = (
        ""  # each branch over the whole sequence: SIDE_BY_SIDE, IN_PLACE, or RECOMPUTED by a backward
    )


def attention(w: AttentionWorkload, form: Form, *, pad: bool = False) -> Callable[..., Any]:
    """The callable of all these implementations. Unsupported names the field that their semantics exclude.

    `pad` takes packed sequences as a batch, as long as the longest.
    """
    _refuse(w)
    if form.upstream:
        refuse_upstream(w)
    if not w.varlen:
        return _alone(w, form)

    def each(q: Any, *others: Any) -> Any:
        return _alone(replace(w, varlen=False, seq=q.shape[1]), form)(q, *others)

    def together(lengths: Any, q: Any, *others: Any) -> Any:
        batch = replace(w, varlen=False, batch=q.shape[0], seq=q.shape[1])
        return _alone(batch, form, lengths)(q, *others)

    return attend_padded(together, gated=w.gated) if pad else attend_each(each, gated=w.gated)


def _alone(w: AttentionWorkload, form: Form, lengths: Any = None) -> Callable[..., Any]:
    """One sequence of any length, or a batch of them; with `lengths` each is padded with zeros."""
    import torch
    from torch.nn.functional import pad

    group = w.compressed_block if form.sparse_compressed and _groups(w) > w.compressed_selected else 0
    size = KERNEL_BLOCK if form.upstream else w.block
    local = replace(w, window=w.window + 1) if form.upstream else w
    read = replace(local, block=max(w.block, size))
    back = min(local.window, w.seq) - 1
    rest = -w.seq % w.tile

    def whole(x):
        if not rest:
            return x  # padding by nothing would copy
        with stage("pad"):
            return pad(x, (0, 0, 0, 0, 0, rest))

    def tiles_per_step(q):
        tiles = _tiles_per_step(read, group, STEP_BYTES)
        if q.device.type == "cpu" and not torch.is_grad_enabled():
            few = _tiles_per_step(read, group, CACHED_BYTES)
            tiles = min(tiles, max(few, _tiles_at_least(w)))
        return tiles

    def prepare(q, k, v, gates, given=None, only=None):
        """(the branches, their steps, each step's gates); or one branch, `only`, with all picks `given`."""
        tiles = tiles_per_step(q)
        span = w.tile * tiles
        wide = torch.promote_types(q.dtype, torch.float32)
        scoring = means = groups = blocks = canvas = None
        if only in {None, COARSE}:
            with stage("compress"):
                if given is None:
                    scoring = block_means(k.detach(), w.block, wide, lengths)
                means = [block_means(x, w.block, lengths=lengths) for x in (k, v)]
                groups = [table(pad_to_multiple(x, group), group) for x in means if group]
        if only in {None, FINE}:
            with stage("selected"):
                blocks = [table(pad_to_multiple(x, max(w.block, size)), size) for x in (k, v)]
        keys, values = (whole(x).split(span, 1) for x in (k, v))
        if only in {None, FINE} and w.seq > span and (q.device.type == "cpu" or not torch.is_grad_enabled()):
            # one mask for all steps: a backward writes it again for each, and reads it before the next
            chosen = min(w.selected, -(-w.seq // w.block)) * w.block
            canvas = q.new_zeros(w.batch * w.heads, tiles, w.tile, chosen)

        def coarse(first, query, near, picks):  # noqa: ARG001 - a branch, as the other two
            with stage("compressed"):
                if group:
                    return attend_selected(w, query, first, groups, picks[1], stride=w.block)
                return attend_compressed(w, query, first, means, skip=form.skip)

        def fine(first, query, near, picks):  # noqa: ARG001
            with stage("selected"):
                return attend_selected(
                    w, query, first, blocks, picks[0], stride=1, distinct=not form.upstream, canvas=canvas
                )

        def recent(first, query, near, picks):  # noqa: ARG001
            with stage("window"):
                return attend_window(local, query, first, near)

        queries = whole(q).split(span, 1)
        shares = [None] * len(queries) if gates is None else whole(gates).split(span, 1)

        def pick(i):
            if given is not None:
                return [None if x is None else x[:, i * tiles : (i + 1) * tiles] for x in given]
            with torch.no_grad(), stage("select"):
                picks = select_blocks(w, queries[i], scoring, i * span, group, lengths, share=form.share)
                return (kernel_blocks(w, picks[0]), picks[1]) if form.upstream else picks

        def steps():
            for i, query in enumerate(queries):
                oldest = max(0, i - -(-back // span))
                yield i * span, query, (keys[oldest : i + 1], values[oldest : i + 1]), pick(i)

        return (coarse, fine, recent), steps(), shares

    def add_up(branches, steps, shares):
        def added(step, share):
            found = [branch(*step) for branch in branches]
            with stage("gate"):
                return gated_sum(found, share)

        # Unpacked at once: holding a tuple of zip's would keep the first step's picks to the end.
        return (added(step, share) for step, share in zip(steps, shares, strict=True))

    def nsa(q, k, v, gates=None):
        if form.whole == RECOMPUTED and torch.is_grad_enabled():
            return recompute_by_branch(select_and_attend, attend_one, (q, k, v, gates))
        branches, steps, shares = prepare(q, k, v, gates)
        if form.whole in {SIDE_BY_SIDE, IN_PLACE}:
            summed = branch_by_branch(branches, [*steps], shares, in_place=form.whole == IN_PLACE)
            return summed[:, : w.seq].to(q.dtype)
        sums = add_up(branches, steps, shares)
        return torch.cat([*sums], 1)[:, : w.seq] if torch.is_grad_enabled() else fill(q, sums)

    def fill(q, sums):
        result = torch.empty_like(q)
        for part, found in zip(result.split(w.tile * tiles_per_step(q), 1), sums, strict=True):
            with stage("gate"):
                part.copy_(found[:, : part.shape[1]])
        return result

    def select_and_attend(q, k, v, gates):
        """(the result, all picks)."""
        picked = []

        def noted(steps):
            for step in steps:
                picked.append(step[-1])
                yield step

        branches, steps, shares = prepare(q, k, v, gates)
        result = fill(q, add_up(branches, noted(steps), shares))
        return result, [None if x[0] is None else _join_picks(x) for x in zip(*picked, strict=True)]

    def attend_one(at, q, k, v, gates, picks):
        """One branch times its gates, over the whole sequence."""
        branches, steps, shares = prepare(q, k, v, gates, picks, at)
        return torch.cat([*weighted_steps(branches[at], at, steps, shares)], 1)[:, : w.seq]

    return nsa


def _join_picks(picks: Sequence[Any]) -> Any:
    """The picks of all steps, [b·heads, tiles, count]; early ones pick fewer, and the rest are −1."""
    import torch
    from torch.nn.functional import pad

    most = max(x.shape[-1] for x in picks)
    return torch.cat([pad(x, (0, most - x.shape[-1]), value=-1) for x in picks], 1)


def _refuse(w: AttentionWorkload) -> None:
    in_stage(w, "attention")
    if not w.causal:
        raise Unsupported("causal=false: blocks are selected causally; use causal=true or attention/dense")
    if not w.varlen and w.seq % w.block:
        raise Unsupported(f"seq {w.seq} is not a multiple of block {w.block}; choose a multiple")


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
    """The fewest tiles per step with which at most `MOST_STEPS` steps are needed."""
    return -(-w.seq // (w.tile * MOST_STEPS))
