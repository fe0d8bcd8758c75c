"""Native sparse attention with a selection per query in torch: the paper's form, and fla's.

Every query gathers the keys of its own blocks, a chunk of queries at a time. A backward computes each chunk
again from its inputs, and selects again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any

from harness import stage

from .._packed import attend_each
from .._references.paper import lengths, refuse_paper
from ..workload import AttentionWorkload

STEP_BYTES = 256 << 20
STEP_QUERIES = 256


def attention(w: AttentionWorkload, *, fla: bool = False) -> Callable[..., Any]:
    """The callable of `nsa_paper` and `nsa_fla_torch`. Unsupported names the field that they exclude."""
    import torch
    from torch.nn.functional import pad
    from torch.utils.checkpoint import checkpoint

    refuse_paper(w, fla=fla)
    length, stride = lengths(w, fla=fla)
    span = queries_at_a_time(w)

    def step(first, q, keys, values, coarse_k, coarse_v, shares):
        wide = coarse_k.dtype
        count = q.shape[1]
        now = torch.arange(first, first + count, device=q.device)[:, None]
        q = q.to(wide).unflatten(2, (w.kv_heads, -1)).permute(0, 2, 3, 1, 4) * w.head_dim**-0.5

        with stage("compressed"):
            complete = max(0, (first + count - length) // stride + 1)
            starts = torch.arange(0, complete * stride, stride, device=q.device)
            scores = torch.einsum("bkgtd,bksd->bkgts", q, coarse_k[:, :, :complete])
            p = softmax(scores, starts + length - 1 <= now)
            coarse = torch.einsum("bkgts,bksd->bkgtd", p, coarse_v[:, :, :complete])

        with torch.no_grad(), stage("select"):
            picks = select(w, p, now, first + count, fla=fla)
        fine = attend_picked(w, q, keys, values, picks, now)

        with stage("window"):
            oldest = max(0, first - w.window + 1)
            near = [x[:, :, oldest : first + count].to(wide) for x in (keys, values)]
            token = torch.arange(oldest, first + count, device=q.device)
            p = softmax(
                torch.einsum("bkgtd,bksd->bkgts", q, near[0]), (token <= now) & (token > now - w.window)
            )
            recent = torch.einsum("bkgts,bksd->bkgtd", p, near[1])

        return gated_sum([coarse, fine, recent], shares)

    def attend(q, k, v, gates=None):
        wide = torch.promote_types(q.dtype, torch.float32)
        fill = (0, 0, 0, -q.shape[1] % w.block)
        keys, values = (pad(x.transpose(1, 2), fill) for x in (k, v))
        with stage("compress"):
            means = [x.to(wide).unfold(2, length, stride).mean(-1) for x in (keys, values)]
        results = []
        for first in range(0, q.shape[1], span):
            part = slice(first, first + span)
            arguments = (
                first,
                q[:, part],
                keys,
                values,
                means[0],
                means[1],
                None if gates is None else gates[:, part],
            )
            if torch.is_grad_enabled():
                result = checkpoint(step, *arguments, use_reentrant=False, preserve_rng_state=False)
            else:
                result = step(*arguments)
            results.append(result.to(q.dtype))
        return torch.cat(results, 1)

    return attend_each(attend, gated=w.gated) if w.varlen else attend


def queries_at_a_time(w: AttentionWorkload) -> int:
    """Queries per chunk: as many as fit with their gathered keys and values."""
    gathered = 2 * 4 * w.batch * w.kv_heads * min(w.selected * w.block, w.seq) * w.head_dim
    return max(1, min(STEP_QUERIES, STEP_BYTES // gathered))


def softmax(scores: Any, visible: Any) -> Any:
    """Softmax over the last axis; 0 if nothing is visible."""
    import torch

    some = visible.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~visible & some, -torch.inf), -1) * some


def select(w: AttentionWorkload, p: Any, now: Any, end: int, *, fla: bool = False) -> Any:
    """Blocks of every query and key head, [b, kv_heads, queries, count], from probabilities; −1 for none."""
    import torch
    from torch.nn.functional import pad

    own_block = now // w.block
    blocks = -(-end // w.block)
    if fla:
        mass = pad(p.sum(2), (0, blocks - p.shape[-1]))
    else:
        length, stride = lengths(w, fla=False)
        strides, before = w.block // stride, length // stride - 1
        # For each compression block that touches a selection block, the strides that it has in it: the
        # paper's 1 2 2 2 1
        common = [
            float(min(i, strides, before + 1, strides + before + 1 - i))
            for i in range(1, strides + before + 1)
        ]
        touching = pad(p.sum(2), (before, strides * blocks - p.shape[-1])).unfold(-1, len(common), strides)
        mass = touching @ torch.tensor(common, dtype=p.dtype, device=p.device)
    block = torch.arange(blocks, device=p.device)
    recent = (own_block - i if i else own_block for i in range(w.local_blocks))
    forced = reduce(or_, (block == always for always in chain(range(w.init_blocks), recent)))
    ranked = mass.masked_fill(forced, torch.inf).masked_fill(block > own_block, -torch.inf)
    top, picks = ranked.topk(min(w.selected, blocks), -1)
    return picks.masked_fill(top == -torch.inf, -1)


def attend_picked(w: AttentionWorkload, q: Any, keys: Any, values: Any, picks: Any, now: Any) -> Any:
    """Attention to the tokens of picked blocks up to each query's own, [b, kv_heads, group, queries, d].

    Queries are scaled and [b, kv_heads, group, queries, d], keys and values [b, kv_heads, whole blocks, d].
    """
    import torch

    with stage("gather"):
        token = (picks[..., None] * w.block + torch.arange(w.block, device=q.device)).flatten(3)
        head = torch.arange(q.shape[0] * w.kv_heads, device=q.device).view(-1, w.kv_heads, 1, 1)
        rows = (head * (keys.shape[2] // w.block) + picks.clamp(min=0)).flatten()
        chosen = [
            x.reshape(-1, w.block * w.head_dim)[rows].view(*token.shape, w.head_dim).to(q.dtype)
            for x in (keys, values)
        ]
    with stage("selected"):
        seen = (token >= 0) & (token <= now)
        p = softmax(torch.einsum("bkgtd,bktsd->bkgts", q, chosen[0]), seen[:, :, None])
        fine = torch.einsum("bkgts,bktsd->bkgtd", p, chosen[1])
        del chosen, p  # returning this memory takes a fifth of the call; it is part of this stage's time
    return fine


def gated_sum(branches: list[Any], shares: Any) -> Any:
    """[b, queries, heads, d] from branches [b, kv_heads, group, queries, d], weighted by their gates."""
    import torch

    with stage("gate"):
        stacked = torch.stack(branches, -1).permute(0, 3, 1, 2, 4, 5).flatten(2, 3)
        share = 1 / 3 if shares is None else shares.to(stacked.dtype).unsqueeze(-2)
        return (stacked * share).sum(-1)
