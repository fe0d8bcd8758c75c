"""Parts of the paper's form in double precision: given blocks, and the last tokens of a sequence.

A decode's query is the last token's, whose key is already in the cache. The cache's block means are inputs,
rounded like the rest of it, and the query scores those. Summing over the cache in every call would be the
work that a cache saves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._stage import in_stage
from ..workload import AttentionWorkload
from .attention import attend, by_blocks
from .paper import lengths, near_ties, per_query_head, refuse_blocks, weigh_branches


def given_blocks(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Attention to the tokens of the picked blocks up to the query; a block counts once."""
    import torch

    def answer(q, k, v, picks):
        tokens = torch.arange(w.seq, device=q.device)
        blocks = -(-w.seq // w.block)

        def block(t, q, k, v):
            chosen = torch.zeros(*picks.shape[:2], len(t), blocks + 1, dtype=torch.bool, device=q.device)
            at = picks[:, :, t].long()
            chosen.scatter_(-1, torch.where(at < 0, blocks, at), True)
            read = chosen[..., :-1].repeat_interleave(w.block, -1)[..., : w.seq]
            return attend(q, k, v, per_query_head(w, read) & (tokens <= t[:, None]))

        return by_blocks(block, w, rows, q, k, v)

    return answer


def newest(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Attention of the last tokens (one in a decode, several in a chunk) to all keys up to their own."""
    import torch

    def answer(q, k, v):
        keys = torch.arange(w.seq, device=q.device)

        def block(t, q, k, v):
            return attend(q, k, v, keys <= (w.seq - w.query_count + t)[:, None])

        return by_blocks(block, w, range(w.query_count) if rows is None else rows, q, k, v)

    return answer


def refuse_newest_paper(w: AttentionWorkload) -> None:
    """Like `refuse_paper`, for one query and a cache."""
    in_stage(w, "decode")
    refuse_blocks(w)


def newest_paper(w: AttentionWorkload, _: Any) -> Callable[..., Any]:
    """The last token's three branches; the compressed branch uses the given means."""
    import torch

    sizes = lengths(w, fla=False)

    def answer(q, k, v, means_k, means_v, gates=None):
        t = torch.tensor([w.seq - 1], device=q.device)
        return weigh_branches(w, t, q, k, v, gates, [means_k, means_v], sizes)

    return answer


def ambiguous_newest(w: AttentionWorkload, _: Any) -> Callable[..., Any]:
    """Marks, [b, 1, heads], queries for which rounding of scores in f32 may decide the selection."""
    import torch

    sizes = lengths(w, fla=False)

    def marks(q, k, means_k):
        t = torch.tensor([w.seq - 1], device=q.device)
        return per_query_head(w, near_ties(w, t, q, k, sizes, means_k)).transpose(1, 2)

    return marks
