"""Minimum work of each semantics' forward, counted from what its definition attends to.

A pair of a query and a key costs 4 `head_dim` FLOPs in each head: one product for the score, one for the sum.
Dense causal attention has N (N + 1) / 2 pairs, since a query sees its own key, and so 2 N (N + 1) H D FLOPs.
A semantics' ideal speedup is that number divided by its own FLOPs. Below a few thousand tokens three branches
have more pairs than dense attention, and the ratio is less than 1. A selection is counted as the most
distinct tokens it can have up to the query. Which blocks it picks, and so how many of their tokens are later
than the query, depends on data. Bytes: inputs read once, result written once. Packed sequences have the sum
of theirs; None if lengths are drawn with the inputs.

The hand count given with MSLK #296's tables, which is not from that pull request, counts the full width of
selection and window for each query from the first token on. That is width²/2 pairs more than there are, at
64K tokens one per cent above these. For sparse compression it also counts means that come after their query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from harness import Array, Cost

from ._bounds import BYTES
from .workload import KERNEL_BLOCK, AttentionWorkload


def of_documents(cost: Callable[[AttentionWorkload], Cost]) -> Callable[[AttentionWorkload], Cost]:
    """The cost of packed documents with known lengths: the sum over the documents; None if unknown."""

    def packed_cost(w: AttentionWorkload) -> Cost:
        whole = cost(w)
        if not (w.varlen and w.packed):
            return whole
        counted = Counter(w.packed)
        alone = {n: cost(replace(w, varlen=False, lengths="uniform", seq=n)) for n in counted}
        flops, dense = (
            sum(times * (getattr(alone[n], name) or 0.0) for n, times in counted.items())
            for name in ("flops", "dense_flops")
        )
        return replace(whole, flops=flops, dense_flops=dense)

    return packed_cost


def dense_cost(w: AttentionWorkload) -> Cost:
    return _cost(w, visible_pairs(w))


def mslk_cost(w: AttentionWorkload) -> Cost:
    """Query t sees the means of blocks 0 … t // block, `selected` blocks and `window` keys."""
    pairs = _means(w, w.seq) + _last(w.seq, w.selected * w.block) + _last(w.seq, w.window)
    return _cost(w, pairs, tile_scoring(w))


def sparse_compressed_cost(w: AttentionWorkload) -> Cost:
    """Like `mslk_cost`, but at most `compressed_selected` groups of means; all means are scored."""
    means = _means(w, w.compressed_selected * w.compressed_block * w.block)
    pairs = means + _last(w.seq, w.selected * w.block) + _last(w.seq, w.window)
    return _cost(w, pairs, tile_scoring(w))


def upstream_cost(w: AttentionWorkload) -> Cost:
    """Like `mslk_cost`, but a block is at least the kernel's, and the window has one key more."""
    selected = w.selected * max(w.block, KERNEL_BLOCK)
    pairs = _means(w, w.seq) + _last(w.seq, selected) + _last(w.seq, w.window + 1)
    return _cost(w, pairs, tile_scoring(w))


def fla_cost(w: AttentionWorkload) -> Cost:
    """Like `paper_cost`, with compression blocks of `block` that do not overlap."""
    means = _steps(max(0, w.seq - w.block + 1), w.block)
    return _cost(w, means + _last(w.seq, w.selected * w.block) + _last(w.seq, w.window))


def paper_cost(w: AttentionWorkload) -> Cost:
    """The probabilities of the compression blocks select, so there are no other scores."""
    length, stride = w.compression
    complete = max(0, w.seq - length + 1)  # queries that see a whole compression block
    pairs = _steps(complete, stride) + _last(w.seq, w.selected * w.block) + _last(w.seq, w.window)
    return _cost(w, pairs)


def given_cost(w: AttentionWorkload) -> Cost:
    """Query t sees the tokens of `selected` blocks."""
    return _cost(w, _last(w.seq, w.selected * w.block))


def newest_cost(w: AttentionWorkload) -> Cost:
    """Only the last tokens have queries, which see all keys up to their own: dense attention's own count."""
    return _of_newest(w, visible_pairs(w), w.seq)


def newest_paper_cost(w: AttentionWorkload) -> Cost:
    """Only the last token has a query, which sees every mean, `selected` blocks and `window` keys."""
    length, stride = w.compression
    means = max(0, (w.seq - length) // stride + 1)
    keys = means + min(w.seq, w.selected * w.block) + min(w.seq, w.window)
    return _of_newest(w, keys, keys)


def _of_newest(w: AttentionWorkload, pairs: int, keys: int) -> Cost:
    """The cost of `pairs` of a last query and a key; bytes: `keys` and values read, the result written."""
    pair = 4.0 * w.batch * w.heads * w.head_dim
    moved = BYTES[w.dtype] * w.batch * w.head_dim * 2 * (w.kv_heads * keys + w.heads * w.query_count)
    return Cost(flops=pair * pairs, bytes=float(moved), dense_flops=pair * visible_pairs(w))


def dsa_cost(w: AttentionWorkload) -> Cost:
    """Query t sees `topk` tokens, and its indexer sees all: a product and a weight in each head."""
    scored = w.batch * w.indexer_heads * 2.0 * (w.indexer_dim + 1) * visible_pairs(w)
    attended = _cost(w, _last(w.seq, w.topk))
    return attended if attended.flops is None else replace(attended, flops=attended.flops + scored)


def _cost(w: AttentionWorkload, pairs: float, scoring: float = 0.0) -> Cost:
    """`pairs` of a query and a key per batch and head; `scoring` are products without a sum."""
    moved = float(_nbytes(w))
    if w.varlen:
        return Cost(bytes=moved)
    pair = 4.0 * w.batch * w.heads * w.head_dim
    dense = pair * visible_pairs(w)
    return Cost(flops=pair * pairs + pair / 2 * scoring, bytes=moved, dense_flops=dense)


def _nbytes(w: AttentionWorkload) -> int:
    """q, k, v and the result, gates, an indexer's three inputs, and sequence boundaries."""
    read = [Array((w.batch, w.seq, 2 * (w.heads + w.kv_heads), w.head_dim), w.dtype)]
    if w.gated:
        read.append(Array((w.batch, w.seq, w.heads, 3), w.dtype))
    if w.indexer_heads:
        read.append(Array((w.batch, w.seq, w.indexer_heads + 1, w.indexer_dim), w.dtype))
        read.append(Array((w.batch, w.seq, w.indexer_heads), w.dtype))
    if w.varlen:
        read.append(Array((w.sequences + 1,), "i32"))
    return sum(array.nbytes for array in read)


def _means(w: AttentionWorkload, width: int) -> float:
    """Pairs of a query and a block mean: t // block + 1 blocks, at most those of the last `width` tokens."""
    return _steps(w.seq, w.block) - _steps(max(0, w.seq - width), w.block)


def _steps(seq: int, block: int) -> float:
    """Σ over t < seq of t // block + 1."""
    full, rest = divmod(seq, block)
    return block * full * (full + 1) / 2 + rest * (full + 1)


def visible_pairs(w: AttentionWorkload) -> int:
    """Pairs of a query and a key that it sees, including its own; only the last tokens have queries."""
    hidden = w.query_count * (w.query_count - 1) // 2 if w.causal else 0
    return w.query_count * w.seq - hidden


def _last(seq: int, width: int) -> float:
    """Pairs if every query sees the last `width` keys up to its own."""
    full = max(0, seq - width)
    short = seq - full
    return full * width + short * (short + 1) / 2


def tile_scoring(w: AttentionWorkload) -> float:
    """Scores of tiles with the blocks that begin before a tile's end."""
    tiles, blocks = -(-w.seq // w.tile), -(-w.seq // w.block)
    return sum(min(blocks, -(-(i + 1) * w.tile // w.block)) for i in range(tiles))
