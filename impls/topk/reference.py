"""The k largest by a full sort, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .family import TopkWorkload


def largest(w: TopkWorkload, rows: Any) -> Callable[..., Any]:
    """(values, indices), each [batch, rows, topk], descending; equal scores in the order of their index."""
    import numpy as np

    def select(scores: Any) -> tuple[Any, Any]:
        if rows is not None:
            scores = scores[:, rows]
        indices = np.argsort(-scores, axis=-1, kind="stable")[..., : w.topk]
        return np.take_along_axis(scores, indices, axis=-1), indices.astype(np.int32)

    return select
