"""DeepSeek sparse attention in double precision (DeepSeek-V3.2-Exp): a lightning indexer picks tokens.

    score     I[t, s] = Σ over indexer heads of w[t, h] · ReLU(q[t, h]·k[s]) / √(indexer heads · dim)
    picked    the `topk` tokens s ≤ t of highest score; all tokens s ≤ t if there are no more
    result    softmax attention over the picked tokens

There is one choice per query, shared by all heads. The choice has no gradient: the indexer's inputs get zeros
(it is trained by its own loss). Gates, blocks and windows are not used. Scores are in f32 or better, whatever
the inputs' dtype. Which of equal scores are picked is left open: those rows are not judged. With few indexer
heads there are some, since a token without a positive product in any head scores exactly 0.

Rounding: the model of `ambiguous.py`, through the product, the ReLU, which adds no error, and the sum over
heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Unsupported

from .._stage import in_stage
from ..workload import AttentionWorkload
from .attention import attend, by_blocks

DEVIATIONS = 6
OTHER_ROUNDINGS = 4  # the weight, its scale, their product, storing the score


def dsa(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Attention over only the picked tokens."""
    refuse_dsa(w)

    def answer(q, k, v, index_q, index_k, index_w):
        def block(t, queries, k, v, index_q, index_k, index_w):
            import torch

            with torch.no_grad():
                chosen = _mark_picks(w, _scores(w, t, index_q, index_k, index_w))
            return attend(queries, k, v, chosen[:, None])

        return by_blocks(block, w, rows, q, k, v, index_q, index_k, index_w)

    return answer


def ambiguous_dsa(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Marks, [b, rows], queries whose last picked and first rejected token may change order."""
    refuse_dsa(w)

    def marks(index_q, index_k, index_w):
        def block(t, _, index_q, index_k, index_w):
            scores = _scores(w, t, index_q, index_k, index_w)
            if scores.shape[-1] <= w.topk:
                return scores.new_zeros(scores.shape[:2]).bool()
            highest = scores.topk(w.topk + 1, -1)
            gap = highest.values[..., -2] - highest.values[..., -1]
            # only a token with about the last one's score can change places with it
            error = _deviations(w, t, index_q, index_k, index_w, highest.indices[..., -2:])
            return (gap <= 2 * DEVIATIONS * error.amax(-1)) & highest.values[..., -1].isfinite()

        return by_blocks(block, w, rows, index_q, index_q, index_k, index_w)

    return marks


def refuse_dsa(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` for what the indexer does not define, naming the field."""
    in_stage(w, "attention")
    if not w.indexer_heads:
        raise Unsupported("indexer_heads=0: an indexer picks the tokens; use 1 or more, or another semantics")
    if not w.causal:
        raise Unsupported("causal=false: tokens are picked causally; use causal=true or attention/dense")
    if w.varlen:
        raise Unsupported(
            "varlen=true: tokens are picked in one sequence; use varlen=false or attention/dense"
        )


def _scores(w: AttentionWorkload, t: Any, index_q: Any, index_k: Any, index_w: Any) -> Any:
    """I[t, s], [b, rows, tokens]; −inf for tokens after the query."""
    import torch

    total = index_q.new_zeros(index_q.shape[0], len(t), w.seq)
    for head in range(w.indexer_heads):
        liked = torch.relu(index_q[:, t, head] @ index_k.transpose(1, 2))
        total = total + index_w[:, t, head, None] * liked
    total = total / (w.indexer_heads * w.indexer_dim) ** 0.5
    return total.masked_fill(torch.arange(w.seq, device=t.device) > t[:, None], -torch.inf)


def _mark_picks(w: AttentionWorkload, scores: Any) -> Any:
    """True at the `topk` highest finite scores."""
    import torch

    values, index = scores.topk(min(w.topk, w.seq), -1)
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, index, values.isfinite())


def _deviations(w: AttentionWorkload, t: Any, index_q: Any, index_k: Any, index_w: Any, at: Any) -> Any:
    """Standard deviations of the errors of I[t, s] at tokens `at` [b, rows, n]."""
    import torch

    batch = torch.arange(at.shape[0], device=at.device)[:, None, None]
    keys = index_k[batch, at]
    products = torch.einsum("brhd,brnd->brnh", index_q[:, t], keys)
    sizes = torch.einsum("brhd,brnd->brnh", index_q[:, t] ** 2, keys**2).sqrt()
    weights = index_w[:, t, None]
    rounding = w.indexer_dim**0.5 * (products.abs() + sizes)
    terms = weights * products.relu()
    variance = ((weights * rounding) ** 2 + (OTHER_ROUNDINGS * terms) ** 2).sum(-1)
    total = w.indexer_heads**0.5 * (terms.sum(-1).abs() + terms.norm(dim=-1))
    unit = 2.0**-53 if w.dtype == "f64" else 2.0**-24
    return unit * (variance + total**2).sqrt() / (w.indexer_heads * w.indexer_dim) ** 0.5
