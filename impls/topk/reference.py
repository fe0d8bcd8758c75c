"""Reference in numpy: the k largest by a stable sort of all scores that reach the k-th."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .indexer._attention import attended_at
from .indexer._indexer import scores_of
from .workload import TopkWorkload

STEP_ROWS = 64  # computed scores that exist at a time


def largest(w: TopkWorkload, rows: Any) -> Callable[..., Any]:
    """(values, indices), each [batch, rows, topk], descending; equal scores in the order of their index."""

    def select(scores: Any) -> tuple[Any, Any]:
        return _largest(w, scores if rows is None else scores[:, rows])

    return select


def largest_of_indexer(w: TopkWorkload, rows: Any) -> Callable[..., Any]:
    """Like `largest`, for the scores of an indexer; f64 whatever the workload's dtype."""
    import numpy as np

    def select(queries: Any, keys: Any, weights: Any) -> tuple[Any, Any]:
        chosen = np.arange(w.rows) if rows is None else np.asarray(rows)
        steps = np.array_split(chosen, -(-len(chosen) // STEP_ROWS))
        parts = [_largest(w, _scores(w, queries[:, step], keys, weights[:, step])) for step in steps]
        values, indices = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return values, indices

    return select


def attention_to_selection(w: TopkWorkload, rows: Any) -> Callable[..., Any]:
    """(attended, values, indices): attention to what an indexer selects, and that selection."""
    import numpy as np

    select = largest_of_indexer(w, rows)

    def attend(queries: Any, keys: Any, weights: Any, q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
        values, indices = select(queries, keys, weights)
        chosen = np.arange(w.rows) if rows is None else rows
        return attended_at({"q": q, "k": k, "v": v}, chosen, indices), values, indices

    return attend


def _scores(w: TopkWorkload, queries: Any, keys: Any, weights: Any) -> Any:
    import numpy as np

    return np.stack([scores_of(w, queries[b], keys[b], weights[b]) for b in range(w.batch)])


def _largest(w: TopkWorkload, scores: Any) -> tuple[Any, Any]:
    import numpy as np

    negative = -scores.astype(np.float64)
    kth = np.partition(negative, w.topk - 1, axis=-1)[..., w.topk - 1, None]
    indices = np.empty((*scores.shape[:-1], w.topk), np.int32)
    for row in np.ndindex(indices.shape[:-1]):
        reaching = np.flatnonzero(~(negative[row] > kth[row]))  # and all NaN, which sort last
        order = np.argsort(negative[row][reaching], kind="stable")
        indices[row] = reaching[order[: w.topk]]
    return np.take_along_axis(scores, indices, axis=-1), indices
