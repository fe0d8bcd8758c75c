"""DeepSeek's lightning indexer in torch, for a chunk of queries: scores, and the tokens picked by them."""

from __future__ import annotations

from typing import Any

from ..workload import AttentionWorkload


def index_scores(w: AttentionWorkload, first: int, index_q: Any, index_k: Any, index_w: Any) -> Any:
    """[b, queries, tokens] in f32 or better, −inf in the future; `first` is the first query's position.

    It computes one head at a time: all heads' products together would be `indexer_heads` times the result.
    """
    import torch

    wide = torch.promote_types(index_q.dtype, torch.float32)
    keys = index_k.to(wide).transpose(1, 2)
    weights = index_w.to(wide) * (w.indexer_heads * w.indexer_dim) ** -0.5
    scores = index_q.new_zeros(*index_q.shape[:2], keys.shape[-1], dtype=wide)
    for head in range(w.indexer_heads):
        liked = torch.relu_(index_q[:, :, head].to(wide) @ keys)
        scores.addcmul_(liked, weights[:, :, head, None])
    now = torch.arange(first, first + index_q.shape[1], device=index_q.device)
    return scores.masked_fill_(torch.arange(keys.shape[-1], device=now.device) > now[:, None], -torch.inf)


def picked_tokens(w: AttentionWorkload, scores: Any) -> tuple[Any, Any]:
    """(tokens, whether they exist), both [b, queries, count]: the `topk` highest, unsorted."""
    values, tokens = scores.topk(min(w.topk, scores.shape[-1]), -1, sorted=False)
    return tokens, values.isfinite()
