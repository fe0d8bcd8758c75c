"""Native sparse attention as in its paper (arXiv 2502.11089), in double precision.

A workload's `block` is the selection block l'. Compression blocks are `kernel` l long, one every `stride` d
tokens, by default l'/2 and l'/4: with block 64, selected 16 and window 512 this is the paper's 64, 32, 16, 16
and 512. The compression φ is the mean, without the paper's learned MLP and positions, and the three branches
share keys and values, because the inputs have no weights. `tile` and `compressed_*` are not used.

    compressed  query t reads block i iff i·d + l − 1 ≤ t, with probabilities p[i]
    scores      block j: Σ p[i] · |block i ∩ block j| / d, summed over the query heads of a key head
    selected    the first `init_blocks` (1), `local_blocks` (2) up to the query's own, then the highest
                scores: `selected` in total
    window      keys t − window + 1 … t

As printed, the sum for scores runs to the left of block j, over tokens it does not have; implementations
count the overlap. Selections are per query and key head. Only whole compression blocks exist; a query that
sees none gets 0 from that branch.

fla's form (flash-linear-attention, `parallel_nsa`) is the same with l = d = l' = `block`: a block's score is
its own probability. fla gives forced blocks the probability 1, while they come first here. The selection is
the same unless another block has all of a query's probability, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Unsupported

from .._stage import in_stage
from ..workload import AttentionWorkload
from .attention import SCORES, attend, by_sequence, compute_block, products

DEVIATIONS = 6
OTHER_ROUNDINGS = 4  # scaling, exponential, division, storing


def paper(w: AttentionWorkload, rows: Any, *, fla: bool = False) -> Callable[..., Any]:
    """The gated sum of the three branches, one packed sequence at a time."""
    import torch

    refuse_paper(w, fla=fla)
    sizes = lengths(w, fla=fla)

    def answer(q, k, v, gates=None, cu_seqlens=None):
        def block(t, q, k, v, shares):
            return weigh_branches(w, t, q, k, v, shares, [compress(x, sizes) for x in (k, v)], sizes)

        def each(t, part):
            size = max(1, SCORES // (w.batch * w.heads * (part.stop - part.start)))
            places, results = t + part.start, []
            for some, place in zip(t.split(size), places.split(size), strict=True):
                shares = None if gates is None else gates[:, place]
                arguments = some, q[:, place], k[:, part], v[:, part], shares
                results.append(compute_block(block, *arguments))
            return torch.cat(results, 1)

        return by_sequence(w, rows, q, cu_seqlens, each)

    return answer


def weigh_branches(
    w: AttentionWorkload, t: Any, q: Any, k: Any, v: Any, shares: Any, means: Any, sizes: tuple[int, int]
) -> Any:
    """The three branches of queries at positions `t`, times their gates; `means` of keys and values."""
    import torch

    tokens = torch.arange(k.shape[1], device=k.device)
    past = tokens <= t[:, None]
    with torch.no_grad():
        masses, _ = block_masses(w, t, q, k, sizes, means[0])
        chosen = picked_paper(w, masses, t).repeat_interleave(w.block, -1)
    shown = ends(k, sizes) <= t[:, None]
    branches = [
        attend(q, means[0], means[1], shown) if shown.shape[-1] else torch.zeros_like(q),
        attend(q, k, v, past & per_query_head(w, chosen)[..., : k.shape[1]]),
        attend(q, k, v, past & (tokens > t[:, None] - w.window)),
    ]
    share = 1 / 3 if shares is None else shares.unsqueeze(-2)
    return (torch.stack(branches, -1) * share).sum(-1)


def ambiguous_paper(w: AttentionWorkload, rows: Any, *, fla: bool = False) -> Callable[..., Any]:
    """Marks, [b, rows, heads], queries for which rounding of scores in f32 may decide a selection.

    The model of `ambiguous.py`: independent errors of at most u, in sums of n terms of standard deviation √n
    u (|Σx| + ‖x‖₂). A logit's error is a probability's relative error. A query is marked if a picked and a
    rejected block may change order within 6 deviations each.
    """
    import torch

    refuse_paper(w, fla=fla)
    sizes = lengths(w, fla=fla)

    def marks(q, k, cu_seqlens=None):
        def each(t, part):
            size = max(1, SCORES // (w.batch * w.heads * (part.stop - part.start)))
            selected_scores = []
            for some in t.split(size):
                near = near_ties(w, some, q[:, some + part.start], k[:, part], sizes)
                selected_scores.append(near.repeat_interleave(w.heads // w.kv_heads, 1).transpose(1, 2))
            return torch.cat(selected_scores, 1)

        return by_sequence(w, rows, q, cu_seqlens, each)

    return marks


def near_ties(w: AttentionWorkload, t: Any, q: Any, k: Any, sizes: tuple[int, int], means: Any = None) -> Any:
    """[b, kv_heads, rows]: whether a picked and a rejected block may change order."""
    import torch

    masses, deviations = block_masses(w, t, q, k, sizes, means)
    free = torch.isfinite(_rank(masses, w, t))
    picked = picked_paper(w, masses, t)
    lowest = (masses - DEVIATIONS * deviations).masked_fill(~(free & picked), torch.inf).amin(-1)
    highest = (masses + DEVIATIONS * deviations).masked_fill(~free | picked, -torch.inf).amax(-1)
    return lowest <= highest


def block_masses(
    w: AttentionWorkload, t: Any, q: Any, k: Any, sizes: tuple[int, int], means: Any = None
) -> tuple[Any, Any]:
    """Scores of the selection blocks, [b, kv_heads, rows, blocks], and their errors' deviations.

    Given mean keys, `means`, have no error.
    """
    import torch

    size, stride = sizes
    stops = ends(k, sizes)
    blocks = -(-k.shape[1] // w.block)
    if not len(stops):
        none = q.new_zeros(w.batch, w.kv_heads, len(t), blocks)
        return none, none
    starts = (stops + 1 - size)[:, None]
    first = torch.arange(blocks, device=k.device) * w.block
    overlap = torch.minimum(starts + size, first + w.block) - torch.maximum(starts, first)
    weights = (overlap.clamp(min=0) / stride).to(k.dtype)
    shown = stops <= t[:, None]
    keys = compress(k, sizes) if means is None else means
    logits = products(q, keys).masked_fill(~shown & shown.any(-1, keepdim=True), -torch.inf)
    p = torch.softmax(logits, -1) * shown.any(-1, keepdim=True)

    unit = 2.0**-53 if w.dtype == "f64" else 2.0**-24
    error_k = torch.zeros_like(keys)
    if means is None:
        windows = k.unfold(1, size, stride)
        error_k = size**0.5 * (windows.sum(-1).abs() + windows.norm(dim=-1)) / size
    scale = w.head_dim**0.5  # products divide by it
    terms = (products(q**2, keys**2) * scale).sqrt() + products(q, keys).abs() * scale
    variance = products(q**2, error_k**2) * scale + (w.head_dim**0.5 + OTHER_ROUNDINGS) ** 2 * terms**2
    relative = variance / w.head_dim + OTHER_ROUNDINGS**2
    # a head's sum of exponentials has the errors of its terms and of adding them
    total = ((p**2) * relative).sum(-1, keepdim=True) + 4 * p.shape[-1]
    mass = p @ weights
    squares = (p**2 * relative) @ weights**2 + mass**2 * (total + 4 * w.block)

    def grouped(x):
        return x.unflatten(1, (w.kv_heads, -1)).sum(2)

    return grouped(mass), unit * grouped(squares).sqrt()


def picked_paper(w: AttentionWorkload, masses: Any, t: Any) -> Any:
    """True at the forced blocks and at the highest others, `selected` in total, none after the query's."""
    import torch

    ranked = _rank(masses, w, t)
    top, index = ranked.topk(min(w.selected, ranked.shape[-1]), -1)
    return torch.zeros_like(ranked, dtype=torch.bool).scatter(-1, index, top > -torch.inf)


def _rank(masses: Any, w: AttentionWorkload, t: Any) -> Any:
    """Scores with +inf at forced blocks and −inf at future ones."""
    import torch

    block = torch.arange(masses.shape[-1], device=masses.device)
    own_block = (t // w.block)[:, None]
    forced = (block < w.init_blocks) | (block > own_block - w.local_blocks)
    return masses.masked_fill(forced, torch.inf).masked_fill(block > own_block, -torch.inf)


def lengths(w: AttentionWorkload, *, fla: bool) -> tuple[int, int]:
    """A compression block's length and stride."""
    return (w.block, w.block) if fla else w.compression


def ends(k: Any, sizes: tuple[int, int]) -> Any:
    """Last token of every compression block."""
    import torch

    size, stride = sizes
    count = max(0, (k.shape[1] - size) // stride + 1)
    return torch.arange(count, device=k.device) * stride + size - 1


def compress(x: Any, sizes: tuple[int, int]) -> Any:
    """Means of the compression blocks, [b, blocks, kv_heads, d]."""
    if x.shape[1] < sizes[0]:
        return x[:, :0]
    return x.unfold(1, *sizes).mean(-1)


def per_query_head(w: AttentionWorkload, x: Any) -> Any:
    return x.repeat_interleave(w.heads // w.kv_heads, 1)


def refuse_paper(w: AttentionWorkload, *, fla: bool = False) -> None:
    """Raise :class:`Unsupported` for what the paper's form does not define, naming the field."""
    in_stage(w, "attention")
    refuse_blocks(w, fla=fla)


def refuse_blocks(w: AttentionWorkload, *, fla: bool = False) -> None:
    """Like `refuse_paper`, for any stage."""
    if not w.causal:
        raise Unsupported("causal=false: the paper's selection is causal; use causal=true or attention/dense")
    if fla and (w.kernel, w.stride, w.init_blocks, w.local_blocks) != (0, 0, 1, 2):
        raise Unsupported(
            "fla compresses whole blocks and forces three; use the defaults of kernel, stride, init, local"
        )
    if w.block % 4 and not (fla or (w.kernel and w.stride)):
        raise Unsupported(f"block {w.block} cannot be split into strides of a quarter; use a multiple of 4")
    length, stride = lengths(w, fla=fla)
    if length % stride or w.block % stride or length > w.block:
        raise Unsupported(
            f"kernel {length}, stride {stride}: use a stride that divides kernel and block {w.block}, "
            "and a kernel no longer than a block"
        )
    forced = w.init_blocks + w.local_blocks
    if w.selected < forced:
        raise Unsupported(f"selected {w.selected} is less than {forced} forced blocks; use {forced} or more")
