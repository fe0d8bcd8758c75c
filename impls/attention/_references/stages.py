"""References for single stages in double precision: block means, selection, transposed lists, gated sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Contract, exact

from ..workload import KERNEL_BLOCK, AttentionWorkload
from .ambiguous import near_ties
from .attention import block_means, means_scores


def compress(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """{"keys", "values"}: means of blocks, [b, blocks, kv_heads, d]."""

    def answer(k, v):
        means = {"keys": block_means(k, w.block), "values": block_means(v, w.block)}
        return means if rows is None else {name: mean[:, rows] for name, mean in means.items()}

    return answer


def select(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Blocks of highest score of each head and tile, ascending, [b, heads, tiles, selected]; −1 for none.

    A tile scores blocks that begin before its end, by the mean of its queries.
    """
    import torch

    def answer(q, means):
        scores = means_scores(w, q, means)(_tiles(w, q))
        values, picks = scores.topk(min(w.selected, scores.shape[-1]), -1)
        picks = picks.masked_fill(values == -torch.inf, -1).sort(-1).values
        return picks if rows is None else picks[:, rows]

    return answer


def ambiguous_picks(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Marks [b, heads, tiles] for which rounding alone may decide what is picked last."""

    def marks(q, means):
        import torch

        near = near_ties(w, q, means, torch.zeros_like(means), _tiles(w, q))
        return near if rows is None else near[:, rows]

    return marks


def _tiles(w: AttentionWorkload, q: Any) -> Any:
    import torch

    return torch.arange(-(-w.seq // w.tile), device=q.device)


def equal_picks() -> Contract:
    """Require the same blocks in any order: their readers sort them."""

    def ascending(picks: Any) -> Any:
        import numpy as np

        return np.sort(picks, -1) if getattr(picks, "ndim", 0) else picks

    return exact(ascending)


def transposed_lists(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """{"tiles": [b, heads, blocks, longest], "counts": [b, heads, blocks]}: who reads a block, ascending."""
    import numpy as np

    number = -(-w.seq // KERNEL_BLOCK)

    def answer(blocks, counts):
        if rows is not None:
            blocks, counts = blocks[:, rows], counts[:, rows]
        readers: list[list[list[int]]] = [
            [[] for _ in range(number)] for _ in range(counts.shape[0] * counts.shape[1])
        ]
        for i, (lists, lengths) in enumerate(zip(_flat(blocks, 2), _flat(counts, 1), strict=True)):
            for tile, length in enumerate(lengths):
                for block in lists[tile, :length]:
                    readers[i][block].append(tile)
        often = np.array([[len(tiles) for tiles in of_head] for of_head in readers], np.int32)
        turned = np.full((*often.shape, often.max(initial=0)), -1, np.int32)
        for i, block in np.ndindex(often.shape):
            turned[i, block, : often[i, block]] = readers[i][block]
        shape = (*counts.shape[:2], number)
        return {"tiles": turned.reshape(*shape, -1), "counts": often.reshape(shape)}

    return answer


def _flat(x: Any, rest: int) -> Any:
    return x.reshape(-1, *x.shape[-rest:])


def gate(_: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """Three branches weighted per query and head, or a third of each, summed."""

    def answer(compressed, selected, window, gates=None):
        of_means, of_blocks, of_window = (1 / 3,) * 3 if gates is None else gates.unsqueeze(-1).unbind(3)
        total = compressed * of_means + selected * of_blocks + window * of_window
        return total if rows is None else total[:, rows]

    return answer
