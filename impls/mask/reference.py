"""References in numpy: the mask, its packed and blocked forms, and attention with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness import cast

from .workload import MaskWorkload

FLOAT32_MAX = float.fromhex("0x1.fffffep127")
WORD = 32  # columns in a word of `packed`
BLOCK = 128  # columns in a block of `blocks`


def closed_value(dtype: str) -> Any:
    """The value added to a logit to close it: −0.7 times float32's largest, rounded to `dtype`."""
    import numpy as np

    return cast(np.asarray(-0.7 * FLOAT32_MAX), dtype)


def top(row: Any, k: int) -> Any:
    """Indices of the k largest of a row, descending; equal values in the order of their index."""
    import numpy as np

    cutoff = np.partition(row, -k)[-k]
    above = np.flatnonzero(row > cutoff)
    tied = np.flatnonzero(row == cutoff)[: k - len(above)]
    return np.concatenate([above[np.argsort(-row[above], kind="stable")], tied])


def selection_mask(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """0 at the columns in `topk_indices`, closed elsewhere: [batch, rows, seq]."""
    import numpy as np

    def mask(topk_indices: Any) -> Any:
        picked = topk_indices if rows is None else topk_indices[:, rows]
        out = np.full((*picked.shape[:2], w.seq), closed_value(w.dtype))
        np.put_along_axis(out, picked, np.zeros((), out.dtype), axis=-1)
        return out

    return mask


def threshold_mask(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """0 where the score is at least the least of `topk_values`: more than `topk` columns if scores tie."""
    import numpy as np

    def mask(scores: Any, topk_values: Any) -> Any:
        if rows is not None:
            scores, topk_values = scores[:, rows], topk_values[:, rows]
        value = closed_value(w.dtype)
        return np.where(scores >= topk_values[..., -1:], np.zeros((), value.dtype), value)

    return mask


def open_columns(w: MaskWorkload, rows: Any, multiple: int) -> Callable[..., Any]:
    """True at the columns in `topk_indices`: [batch, rows, seq rounded up to a multiple]."""
    import numpy as np

    def columns(topk_indices: Any) -> Any:
        picked = topk_indices if rows is None else topk_indices[:, rows]
        out = np.zeros((*picked.shape[:2], -(-w.seq // multiple) * multiple), bool)
        np.put_along_axis(out, picked, True, axis=-1)
        return out

    return columns


def packed_mask(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """Words of 32 columns, the first in the lowest bit, 1 for open: [batch, rows, words]."""
    import numpy as np

    columns = open_columns(w, rows, WORD)

    def mask(topk_indices: Any) -> Any:
        bits = columns(topk_indices)
        bits = bits.reshape(*bits.shape[:2], -1, WORD)
        words = np.zeros(bits.shape[:3], np.uint32)
        for place in range(WORD):
            words |= bits[..., place].astype(np.uint32) << np.uint32(place)
        return words

    return mask


def block_mask(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """For blocks of 128 columns: `held`, whether any is open, and `inside`, which ones are.

    Shapes [batch, rows, blocks] and [batch, rows, blocks, 128]; nothing past seq is open.
    """
    columns = open_columns(w, rows, BLOCK)

    def mask(topk_indices: Any) -> Any:
        bits = columns(topk_indices)
        inside = bits.reshape(*bits.shape[:2], -1, BLOCK)
        return {"held": inside.any(axis=-1), "inside": inside}

    return mask


def attention_under_mask(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """Dense softmax attention of every query over all columns, with the mask added to its logits."""
    import numpy as np

    def attend(topk_indices: Any, queries: Any, keys: Any, values: Any) -> Any:
        mask = selection_mask(replace(w, dtype="f64"), rows)(topk_indices)
        queries = queries if rows is None else queries[:, rows]
        out = np.empty(queries.shape)
        for batch, row in np.ndindex(*queries.shape[:2]):
            logits = keys[batch] @ queries[batch, row] / math.sqrt(w.head_dim) + mask[batch, row]
            weights = np.exp(logits - logits.max())
            out[batch, row] = weights @ values[batch] / weights.sum()
        return out

    return attend


def visible(w: MaskWorkload, rows: Any) -> Any:
    """Which columns each of the queries `rows` sees, as booleans: [rows, seq]."""
    import numpy as np

    return np.arange(w.seq) <= last_visible(w)[rows][:, None]


def last_visible(w: MaskWorkload) -> Any:
    """The last column that each query sees, int32: evenly spaced, the last query at the last column."""
    import numpy as np

    return (np.arange(1, w.rows + 1) * w.seq // w.rows - 1).astype(np.int32)


def roles_of_columns(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """1 for a column that must be open, 0 for one that must be closed, 2 if the choice is free: int8.

    The choice is free for visible columns that tie at the cutoff if not all of them fit the selection.
    """
    import numpy as np

    def roles(scores: Any, topk_values: Any) -> Any:
        if rows is not None:
            scores, topk_values = scores[:, rows], topk_values[:, rows]
        seen = visible(w, np.arange(w.rows) if rows is None else rows)
        above = seen & (scores > topk_values[..., -1:])
        tied = seen & (scores == topk_values[..., -1:])
        fits = (above | tied).sum(axis=-1, keepdims=True) <= w.topk
        return np.where(tied & ~fits, np.int8(2), (above | tied).astype(np.int8))

    return roles
