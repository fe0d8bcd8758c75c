"""Shared code of the radix implementations in numpy: most significant digit first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import stage

from .workload import TopkWorkload

WORDS = {"f64": "u8", "f32": "u4", "bf16": "u4", "f16": "u2"}
KEYS = {"f64": "f8", "f32": "f4", "bf16": "f4", "f16": "f2"}


def selection(w: TopkWorkload, key: str) -> Callable[..., tuple[Any, Any]]:
    """Radix select of every row, by the bits of its scores as `key`s."""
    import numpy as np

    word = np.dtype(WORDS[key])
    sign = word.type(1 << (8 * word.itemsize - 1))
    digits = [8 * place for place in reversed(range(word.itemsize))]

    def columns(row: Any) -> Any:
        # Adding zero turns −0 into +0. Negative scores are inverted and positive ones get the top bit, so
        # keys order as scores.
        with stage("encode"):
            bits = (row.astype(KEYS[key]) + 0).view(word)
            keys = np.where(bits & sign, ~bits, bits | sign)
        selected: list[Any] = []
        left, room = np.arange(w.seq), w.topk
        for shift in digits:
            with stage("histogram"):
                digit = (keys >> word.type(shift)).astype(np.uint8)
                reach = np.bincount(digit, minlength=256)[::-1].cumsum()[::-1]
                bin_ = int(np.flatnonzero(reach >= room)[-1])
            with stage("compact"):
                above, at = np.flatnonzero(digit > bin_), np.flatnonzero(digit == bin_)
                selected.append(left[above])
                left = left[at]
                keys, room = keys[at], room - len(above)
        return np.concatenate([*selected, left[:room]])

    def select(scores: Any) -> tuple[Any, Any]:
        rows = scores.reshape(-1, w.seq)
        indices = np.stack([columns(row) for row in rows]).reshape(w.batch, w.rows, w.topk)
        with stage("gather"):
            return np.take_along_axis(scores, indices, axis=-1), indices

    return select
