"""Reference in numpy for the lists of blocks that MSLK's attention kernel reads (#296), tile by tile.

Selection gives every tile `selected` numbers of blocks of `block` tokens, sorted. Numbers of blocks that do
not exist are 0, so 0 may repeat. The kernel's blocks have 128 tokens, whatever `block` is. Per tile it needs
those that include a picked block: each once, ascending, with their count, all in int32. Entries after the
count are never read and never judged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Contract, Cost, Evidence, Judgement, exact

from .._stage_inputs import width
from ..workload import KERNEL_BLOCK, AttentionWorkload


def lists(w: AttentionWorkload, rows: Any) -> Callable[..., Any]:
    """{"blocks": [b, heads, tiles, width], "counts": [b, heads, tiles]}; −1 after a count."""
    import numpy as np

    def answer(picks):
        chosen = picks if rows is None else picks[:, rows]
        flat = chosen.reshape(-1, w.selected)
        blocks = np.full((len(flat), width(w)), -1, np.int32)
        counts = np.zeros(len(flat), np.int32)
        for i, tile in enumerate(flat):
            first = tile * w.block // KERNEL_BLOCK
            last = (tile * w.block + w.block - 1) // KERNEL_BLOCK
            read = sorted({block for pair in zip(first, last, strict=True) for block in _from(*pair)})
            counts[i] = len(read)
            blocks[i, : len(read)] = read
        return {
            "blocks": blocks.reshape(*chosen.shape[:-1], -1),
            "counts": counts.reshape(chosen.shape[:-1]),
        }

    return answer


def _from(first: int, last: int) -> range:
    return range(first, last + 1)


def lists_cost(w: AttentionWorkload) -> Cost:
    """Picks read once, lists and counts written once; there is nothing to multiply."""
    tiles = w.batch * w.heads * -(-w.seq // w.tile)
    return Cost(bytes=4.0 * tiles * (w.selected + width(w) + 1))


def exact_lists(part: str = "blocks") -> Contract:
    """Require int32, equal counts, and equal lists up to them."""
    equal = exact(partial(_up_to_counts, part))

    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        result = evidence.result
        if isinstance(result, dict):
            for name in sorted(result):
                kind = np.asarray(result[name]).dtype
                if kind != np.int32:
                    return Judgement(False, {}, f"{name} is {kind}; the kernel reads int32")
        return equal.judge(evidence)

    return Contract(equal.name, judge, f"equal counts, and equal {part} up to them, in int32")


def _up_to_counts(part: str, tree: Any) -> Any:
    import numpy as np

    if not isinstance(tree, dict) or set(tree) != {part, "counts"}:
        return tree
    lists, counts = (np.asarray(tree[name]) for name in (part, "counts"))
    if lists.shape[:-1] != counts.shape:
        return tree
    read = np.arange(lists.shape[-1]) < counts[..., None]
    return {part: np.where(read, lists, -1)[..., : counts.max(initial=0)], "counts": counts}
