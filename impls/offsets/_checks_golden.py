"""Golden vectors: packed rows small enough to solve by hand (G1 to G10, a ring's short stripe, many gaps).

G1 plain; G2 a gap inside a segment; G3 longer keys; G4 one segment longer and one shorter than its keys; G5
an absent segment; G6 a stripe; G7 ids from 4 on; G8 six segments in three slots; G9 only padding; G10 two
stripes in one batch. The answers follow from the pairwise definition, not from any merged version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .reference import zero_empty
from .workload import OffsetsWorkload

SEQ = 16
"""Tokens in every row; shorter rows are padded."""

PLACES = 3
FIELDS = ("segment_ids_q", "segment_ids_kv", "positions_q", "positions_kv")
PARTS = ("q_seqlens", "kv_seqlens", "q_offsets", "kv_offsets")


@dataclass(frozen=True)
class Row:
    """Ids of queries, ids of keys (empty: the same), and positions if they do not count from each start.

    An answer is `q_seqlens | kv_seqlens | q_offsets | kv_offsets` without the empty slots at the end. There
    is one answer for all kinds, or one for each kind.
    """

    q: str
    kv: str = ""
    positions_q: str = ""
    positions_kv: str = ""
    answer: str | Mapping[str, str] = ""


def _kinds(causal: str, bottom_right: str, padding: str) -> dict[str, str]:
    return {"causal": causal, "bottom_right": bottom_right, "padding": padding}


def _stripe(ids: str, positions_q: str, positions_kv: str, masked: str, padding: str) -> Row:
    """Both kinds of mask drop the same tokens of a stripe."""
    return Row(ids, ids, positions_q, positions_kv, _kinds(masked, masked, padding))


GOLDEN = {
    "G1": Row("1 1 1 0 2 2 2 2 0 0", answer="3 4 | 3 4 | 0 4 | 0 4"),
    "G2": Row("1 1 0 1 2 2", answer="3 2 | 3 2 | 0 3 4 | 0 3 4"),
    "G3": Row(
        "1 1 1 0 2 2 2 2",
        "1 1 1 1 0 0 2 2 2 2 2 2 2 2 2 2",
        answer=_kinds("3 4 | 3 4 | 0 4 | 0 6", "3 4 | 4 10 | 0 4 | 0 6", "3 4 | 4 10 | 0 4 | 0 6"),
    ),
    "G4": Row(
        "1 1 1 1 2 2",
        "1 1 2 2 2 2",
        answer=_kinds("4 2 | 2 2 | 0 4 | 0 2", "2 2 | 2 4 | 2 4 | 0 2", "4 2 | 2 4 | 0 4 | 0 2"),
    ),
    "G5": Row("1 1 2 2 3 3", "1 1 3 3 0 0", answer="2 0 2 | 2 0 2 | 0 4 | 0 2"),
    "G6": _stripe("1 1 2 2", "0 2 0 2", "1 3 1 3", "1 1 | 1 1 | 1 3 | 0 2", "2 2 | 2 2 | 0 2 | 0 2"),
    "G7": Row("4 4 4 0 0 5 5 5 6 6 0 0", answer="| | 0 5 8 | 0 5 8"),
    "G8": Row("1 2 3 4 5 6", answer="1 1 1 | 1 1 1 | 0 1 2 3 | 0 1 2 3"),
    "G9": Row("0 0 0 0 0 0", answer="| | |"),
    "G10a": _stripe(
        "1 1 2 2 3 3 3 3",
        "0 2 0 2 0 2 4 6",
        "1 3 1 3 1 3 5 7",
        "1 1 3 | 1 1 3 | 1 3 5 | 0 2 4",
        "2 2 4 | 2 2 4 | 0 2 4 | 0 2 4",
    ),
    "G10b": _stripe(
        "1 1 1 1 1 1 2 2",
        "0 2 4 6 8 10 0 2",
        "1 3 5 7 9 11 1 3",
        "5 1 | 5 1 | 1 7 | 0 6",
        "6 2 | 6 2 | 0 6 | 0 6",
    ),
}

# Devices 2 and 3 of four with two segments of 4 tokens, then 3 and 5 of six with one of 12. A run's length is
# counted on its device but positions over all devices, so length − position is negative for every key.
SHORT_STRIPE = {
    "short": _stripe(
        "1 2 3 3", "2 2 3 9", "3 3 5 11", "0 0 1 | 0 0 1 | 3 | 2", "1 1 2 | 1 1 2 | 0 1 2 | 0 1 2"
    )
}

# A gap after every token: more runs than any layout with this many segments has.
MANY_GAPS = {"gaps": Row("1 0 1 0 2 0 2 0 2 0 3 0 3 0 3", answer="2 3 3 | 2 3 3 | 0 2 4 6 | 0 2 4 6")}

VECTORS = GOLDEN | SHORT_STRIPE | MANY_GAPS


def workload_of(w: OffsetsWorkload, batch: int) -> OffsetsWorkload:
    """Like `w`, with one row per vector. For kinds other than sliding, the window is the whole row.

    Vectors cover every layout; `cross` is the layout that promises the least.
    """
    other = {"layout": "cross", "window": max(w.window, SEQ), "seq_kv": 0, "head_dim": 0}
    return replace(w, batch=batch, seq=SEQ, max_segments=PLACES, **other)


def inputs_of(names: Sequence[str]) -> dict[str, Any]:
    """Ids and positions of these vectors, int32 [batch, SEQ]."""
    import numpy as np

    rows = []
    for row in (VECTORS[name] for name in names):
        ids = [_pad_ids(row.q), _pad_ids(row.kv or row.q)]
        given = (row.positions_q, row.positions_kv)
        rows.append([*ids, *(_positions(side, text) for side, text in zip(ids, given, strict=True))])
    parts = zip(*rows, strict=True)
    return {name: np.array(part, np.int32) for name, part in zip(FIELDS, parts, strict=True)}


def answer_of(name: str, kind: str) -> tuple[Any, ...]:
    """(q_seqlens, kv_seqlens, q_offsets, kv_offsets) of one vector; empty slots are 0 and −1."""
    import numpy as np

    answer = VECTORS[name].answer
    text = answer if isinstance(answer, str) else answer["causal" if kind == "sliding" else kind]
    parts = [_numbers(part) for part in text.split("|")]
    empty = ([0] * PLACES, [0] * PLACES, [-1] * (PLACES + 1), [-1] * (PLACES + 1))
    return tuple(
        np.array(part + fill[len(part) :], np.int32) for part, fill in zip(parts, empty, strict=True)
    )


def difference(result: Any, want: tuple[Any, ...]) -> str:
    """The first part of an answer that differs, with the actual and expected values; empty if all agree."""
    import numpy as np

    for name, mine, right in zip(PARTS, zero_empty(result), zero_empty(want), strict=True):
        if not np.array_equal(mine, right):
            return f"{name} are {np.asarray(mine).tolist()}, not {np.asarray(right).tolist()}"
    return ""


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split()]


def _pad_ids(text: str) -> list[int]:
    given = _numbers(text)
    return given + [0] * (SEQ - len(given))


def _positions(ids: list[int], text: str) -> list[int]:
    """The given positions, or positions that count from each start and continue through padding."""
    out = _numbers(text)
    if out:
        return [*out, *range(out[-1] + 1, out[-1] + 1 + SEQ - len(out))]
    current, start = 0, 0
    for index, segment in enumerate(ids):
        if segment not in {0, current}:
            current, start = segment, index
        out.append(index - start)
    return out
