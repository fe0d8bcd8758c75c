"""What MSLK's kernels compute for the published numbers, in double precision (#296, da093e1).

Selection and compressed branch are those of `nsa_mslk`. Three things differ, all due to the attention kernel
(FA4) that they use, whose blocks have 128 tokens whatever `block` is:

    whole blocks  every kernel block that includes a selected block is read, up to the query; a kernel
                  block that includes several selected blocks is read once
    duplicates    if a tile sees fewer than `selected` blocks, a pick that does not exist is block 0; for
                  block 128 or more these are never merged, and count in the softmax again
    window        `window` keys before the query and its own: one more

A query that sees none of its tile's picks gets 0 from that branch, as in such kernels. Packed sequences
follow `nsa_mslk`'s rule, each independent and with every token in its last block. Upstream has two rules, one
that drops a tail and one that fills it with zeros, so there is no single rule to follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Unsupported

from ..workload import KERNEL_BLOCK, AttentionWorkload
from .attention import attend, block_means, block_scores, by_blocks, per_sequence, products, refuse


def upstream(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """The gated sum of three softmaxes; in the second, keys may count several times."""
    import torch

    refuse_upstream(w)

    def alone(w, rows, q, k, v, gates):
        coarse = [block_means(x, w.block) for x in (k, v)]
        keys = torch.arange(w.seq, device=q.device)
        with torch.no_grad():
            scored = block_scores(w, q, k)

        def block(t, queries, k, v, coarse):
            tiles, tile = torch.unique(t // w.tile, return_inverse=True)
            past = keys <= t[:, None]
            with torch.no_grad():
                times = _times_read(w, scored(tiles))[:, :, tile] * past
            branches = [
                attend(queries, coarse[0], coarse[1], keys[:: w.block] <= t[:, None]),
                _attend_often(queries, k, v, times),
                attend(queries, k, v, past & (keys >= t[:, None] - w.window)),
            ]
            share = 1 / 3 if gates is None else gates[:, t, :, None]
            return (torch.stack(branches, -1) * share).sum(-1)

        return by_blocks(block, w, rows, q, k, v, coarse)

    return per_sequence(w, rows, alone)


def refuse_upstream(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` for what upstream does not define, naming the field."""
    refuse(w)
    if w.block % KERNEL_BLOCK and KERNEL_BLOCK % w.block:
        raise Unsupported(f"block {w.block}: the kernel's blocks have 128 tokens; use a divisor or multiple")


def _times_read(w: AttentionWorkload, scores: Any) -> Any:
    """How often a tile's queries read each key, [b, heads, tiles, keys], before causality."""
    import torch

    values, index = scores.topk(min(w.selected, scores.shape[-1]), -1)
    picks = index.masked_fill(values == -torch.inf, 0)
    times = torch.zeros_like(scores).scatter_add(-1, picks, torch.ones_like(values))
    if w.block >= KERNEL_BLOCK:
        return times.repeat_interleave(w.block, -1)[..., : w.seq]
    per_kernel = times.split(KERNEL_BLOCK // w.block, -1)
    read = torch.stack([part.any(-1) for part in per_kernel], -1).to(scores.dtype)
    return read.repeat_interleave(KERNEL_BLOCK, -1)[..., : w.seq]


def _attend_often(q: Any, k: Any, v: Any, times: Any) -> Any:
    """Softmax in which a key counts `times`: Σ times·exp(s)·v / Σ times·exp(s); 0 if all are 0."""
    import torch

    some = (times > 0).any(-1, keepdim=True)
    scores = products(q, k) + torch.where(some, times.log(), 0)
    weights = (torch.softmax(scores, -1) * some).unflatten(1, (k.shape[2], -1))
    return torch.einsum("bkgrn,bnkd->brkgd", weights, v).flatten(2, 3)
