"""Seeded rows of packed segments: ascending ids from 1, and 0 for padding; positions also count padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, cast

from .workload import OffsetsWorkload

LEAST_TOKENS = 4
"""Smallest length of a segment, including its padding."""


def inputs(w: OffsetsWorkload, rng: Any) -> Mapping[str, Any]:
    """Ids and positions of both sides, int32 [batch, seq].

    A row has three quarters to all of `max_segments` segments of random lengths. Some have padding after
    them, and the rest of the row is empty. For a `distribution` other than `iid` see :func:`_lengths`. Layout
    `self`: both sides are equal. `cross`: every query segment is shorter than its keys. `absent`: at least
    one query segment has no keys. `intra_padding`: like self, with a gap inside every segment. `striped`:
    queries are the even tokens and keys the odd tokens of a row twice as long, as two devices of a ring see
    it. Queries, keys and values are normal and are drawn last. Documents of real lengths are in random order,
    with the row's padding after them.
    """
    import numpy as np

    rows = [_place_documents(row, w.seq, rng) for row in w.packed] or [_row(w, rng) for _ in range(w.batch)]
    names = ("segment_ids_q", "positions_q", "segment_ids_kv", "positions_kv")
    packed = {name: np.stack(part) for name, part in zip(names, zip(*rows, strict=True), strict=True)}
    drawn = np.float64 if w.dtype == "f64" else np.float32
    return packed | {
        name: cast(rng.standard_normal(array.shape, dtype=drawn), w.dtype)
        for name, array in attended_arrays(w).items()
    }


def attended_arrays(w: OffsetsWorkload) -> dict[str, Array]:
    """Additional inputs of attention over the segments; empty without a `head_dim`."""
    if not w.head_dim:
        return {}
    key = Array((w.batch, w.keys, w.heads, w.head_dim), w.dtype)
    return {"q": Array((w.batch, w.seq, w.heads, w.head_dim), w.dtype), "k": key, "v": key}


def complete(w: OffsetsWorkload, arrays: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """Check the given arrays. ValueError for invalid ids, or if ids or positions are incomplete."""
    parts = {f"{name}_{side}" for name in ("segment_ids", "positions") for side in ("q", "kv")}
    if given & parts and not parts <= given:
        raise ValueError(f"ids and positions must be captured together: capture {', '.join(sorted(parts))}")
    for name in sorted(parts & given):
        most = w.max_segments if name.startswith("segment") else None
        low, high = arrays[name].min(), arrays[name].max()
        if low < 0 or (most is not None and high > most):
            raise ValueError(f'"{name}" has {low} to {high}; ids are 0 to max_segments, positions 0 or more')
    return arrays


def _place_documents(documents: tuple[int, ...], total: int, rng: Any) -> tuple[Any, Any, Any, Any]:
    """(ids_q, positions_q, ids_kv, positions_kv) of a row of documents."""
    import numpy as np

    count = len(documents)
    both = _place(np.arange(1, count + 1), rng.permutation(documents), np.zeros(count, np.int64), total)
    return (*both, *both)


def _row(w: OffsetsWorkload, rng: Any) -> tuple[Any, Any, Any, Any]:
    """(ids_q, positions_q, ids_kv, positions_kv) of one row."""
    import numpy as np

    least = 2 if w.layout == "absent" else 1
    count = int(rng.integers(max(least, -(-3 * w.max_segments // 4)), w.max_segments, endpoint=True))
    segments = np.arange(1, count + 1)
    if w.layout == "striped":
        ids, positions = _place(segments, *_lengths(w, count, 2 * w.seq, 2 * LEAST_TOKENS, rng), 2 * w.seq)
        return ids[0::2], positions[0::2], ids[1::2], positions[1::2]
    tokens, padding = _lengths(w, count, w.keys, LEAST_TOKENS, rng)
    ids, positions = _place(segments, tokens, padding, w.keys)
    if w.seq_kv:
        shorter, behind = _lengths(w, count, w.seq, LEAST_TOKENS, rng)
        return (*_place(segments, np.minimum(shorter, tokens - 1), behind, w.seq), ids, positions)
    if w.layout == "cross":
        return (*_place(segments, rng.integers(1, tokens), padding, w.seq), ids, positions)
    if w.layout == "absent":
        kept = np.sort(rng.permutation(count)[: rng.integers(1, count)])
        return (ids, positions, *_place(segments[kept], tokens[kept], padding[kept], w.seq))
    if w.layout == "intra_padding":
        starts = np.cumsum(tokens + padding) - tokens - padding
        for start, length in zip(starts, tokens, strict=True):
            first = rng.integers(1, length - 1)
            ids[start + first : start + rng.integers(first + 1, length)] = 0
    return ids, positions, ids, positions


def _lengths(w: OffsetsWorkload, count: int, total: int, least: int, rng: Any) -> tuple[Any, Any]:
    """(tokens, padding) of `count` segments: at least `least` tokens together, at most a quarter padding.

    `unpadded`: no padding, not even at the end of the row. `padded`: three quarters of a segment are padding,
    except for three tokens. `long_run`: one segment has all tokens that the minimum lengths of the others
    leave. `zeros`: segments are so short that nine tenths of a long row are empty.
    """
    import numpy as np

    cuts = np.sort(rng.integers(0, total - least * count, size=count, endpoint=True))
    spans = least + np.diff(cuts, prepend=0)
    padding = rng.integers(0, spans // 4, endpoint=True)
    if w.distribution == "unpadded":
        spans[-1] += total - spans.sum()
        padding = np.zeros_like(spans)
    elif w.distribution == "padded":
        padding = np.minimum(spans * 3 // 4, spans - 3)
    elif w.distribution == "long_run":
        spans, padding = np.full(count, least), np.zeros(count, np.int64)
        spans[rng.integers(count)] += total - least * count
    elif w.distribution == "zeros":
        spans = least + np.diff(cuts // 16, prepend=0)
        padding = np.zeros_like(spans)
    return spans - padding, padding


def _place(segments: Any, tokens: Any, padding: Any, total: int) -> tuple[Any, Any]:
    """(ids, positions), int32 [total]: consecutive segments; the rest belongs to the last one's padding."""
    import numpy as np

    ids, positions = np.zeros(total, np.int32), np.zeros(total, np.int32)
    start = 0
    for segment, length, gap in zip(segments, tokens, padding, strict=True):
        ids[start : start + length] = segment
        positions[start:] = np.arange(total - start)
        start += length + gap
    return ids, positions
