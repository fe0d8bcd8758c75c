"""Reference in numpy, pairwise: a token counts if the mask allows a pair with any token of its segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import OffsetsWorkload

BLOCK = 1024


def pairwise(w: OffsetsWorkload, _: Any) -> Callable[..., Any]:
    """(q_seqlens, kv_seqlens [batch, M], q_offsets, kv_offsets [batch, M + 1]), int32.

    Offsets are indices within the row, or −1 if there are fewer starts than slots.
    """
    import numpy as np

    def offsets(
        segment_ids_q: Any, segment_ids_kv: Any, positions_q: Any, positions_kv: Any
    ) -> tuple[Any, ...]:
        rows = []
        for ids_q, ids_kv, pos_q, pos_kv in zip(
            segment_ids_q, segment_ids_kv, positions_q, positions_kv, strict=True
        ):
            met_q, met_kv = _met(w, ids_q, ids_kv, pos_q, pos_kv)
            length_q, start_q = _tail(np.where(met_q, ids_q, 0), w.max_segments)
            length_kv, start_kv = _tail(np.where(met_kv, ids_kv, 0), w.max_segments)
            rows.append((length_q, length_kv, start_q, start_kv))
        return tuple(np.stack(part) for part in zip(*rows, strict=True))

    return offsets


def _met(w: OffsetsWorkload, ids_q: Any, ids_kv: Any, pos_q: Any, pos_kv: Any) -> tuple[Any, Any]:
    """Which queries and which keys of one row have a partner: two boolean arrays."""
    import numpy as np

    if w.kind == "bottom_right":
        pos_q, pos_kv = run_lengths(ids_q) - pos_q, run_lengths(ids_kv) - pos_kv
    met_q, met_kv = np.zeros(ids_q.shape, bool), np.zeros(ids_kv.shape, bool)
    for segment in np.unique(ids_q[ids_q != 0]):
        at_q, at_kv = np.flatnonzero(ids_q == segment), np.flatnonzero(ids_kv == segment)
        q, kv = pos_q[at_q], pos_kv[at_kv]
        met_q[at_q] = _any(q, kv, lambda query, key: allowed(w, query, key))
        # Most keys are allowed for the last query, so start there.
        met_kv[at_kv] = _any(kv, q[::-1], lambda key, query: allowed(w, query, key))
    return met_q, met_kv


def allowed(w: OffsetsWorkload, query: Any, key: Any) -> Any:
    """The mask's predicate on positions, or on bottom_right's rl − position, broadcast."""
    import numpy as np

    if w.kind == "padding":
        return np.ones(np.broadcast_shapes(query.shape, key.shape), bool)
    if w.kind == "bottom_right":
        return query <= key
    if w.kind == "sliding":
        return (query >= key) & (query - key < w.window)
    return query >= key


def _any(mine: Any, others: Any, allowed: Callable[[Any, Any], Any]) -> Any:
    """For each of `mine`, whether any of `others` is allowed; pairs already decided are skipped."""
    import numpy as np

    has_partner = np.zeros(mine.shape, bool)
    for start in range(0, len(others), BLOCK):
        undecided = np.flatnonzero(~has_partner)
        if not undecided.size:
            break
        has_partner[undecided] = allowed(mine[undecided, None], others[None, start : start + BLOCK]).any(
            axis=1
        )
    return has_partner


def run_lengths(ids: Any) -> Any:
    """For every token the length of its run of equal ids; 0 on padding."""
    import numpy as np

    starts = np.flatnonzero(np.diff(ids, prepend=ids[:1] - 1))
    lengths = np.diff(starts, append=len(ids))
    return np.where(ids != 0, np.repeat(lengths, lengths), 0)


def zero_empty(result: Any) -> Any:
    """Normalize the length of an unused slot: −1, as in the first version of #2522, becomes 0."""
    import numpy as np

    if not isinstance(result, (tuple, list)) or len(result) != 4:
        return result
    return (*(np.maximum(lengths, 0) for lengths in result[:2]), *result[2:])


def _tail(ids: Any, places: int) -> tuple[Any, Any]:
    """(lengths [places], offsets [places + 1]) of one row's ids; id 0: the token does not count."""
    import numpy as np

    counts = np.bincount(ids[ids <= places], minlength=places + 1)[1:]
    starts = np.flatnonzero((ids != 0) & (np.diff(ids, prepend=0) != 0))[: places + 1]
    offsets = np.pad(starts, (0, places + 1 - len(starts)), constant_values=-1)
    return counts.astype(np.int32), offsets.astype(np.int32)
