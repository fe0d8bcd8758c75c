"""Inputs that several families share: documents packed into rows, and scores for selections.

Lengths are drawn from a distribution, then packed first-fit or best-fit decreasing.

`pretrain` is a published histogram of the lengths of 13 463 214 documents: MagiAttention (2c64135,
exps/dist_attn/benchmark/datasets/default/doc_length_distribution.csv, Apache-2.0). Within a bin all lengths
are equally likely. Its benchmark splits documents at a quarter of the row, and at the end of a row. Here a
document is never split: a longer one is truncated to a row, like OLMo-core's `LongDocStrategy.truncate`.

Packers: best-fit decreasing as in OLMo-core #260, first-fit as in trl #3521. Four times as many rows as
needed are packed, and some of them drawn, but never the last one, which is not full.

Rows are part of the case, like shapes and FLOPs. Therefore they depend only on `packing_seed`, not on the
seed of the inputs, and Python's generator draws them, which is the same on every machine.
"""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from functools import lru_cache
from itertools import accumulate
from typing import Any

from harness.core.errors import Unsupported
from harness.core.paths import PACKAGE
from harness.core.workload_files import LengthBin, parse_table, read_table

LENGTHS = ("uniform", "pretrain", "single")
PACKERS = ("first_fit", "best_fit_decreasing")
_POOL = 4  # rows packed for each that is returned
_MOST_DRAWN = 1 << 18  # documents; packing them takes seconds


@lru_cache(maxsize=64)
def packed_rows(lengths: str, packing: str, seed: int, seq: int, rows: int) -> tuple[tuple[int, ...], ...]:
    """The lengths of the documents, in order, in each of `rows` rows of at most `seq` tokens.

    `lengths` is `pretrain`, `single` (one document as long as the row) or the identity of a CSV file.
    Unsupported for a file that has changed, and for too many short documents.
    """
    if lengths == "single":
        return ((seq,),) * rows
    rng = random.Random(seed)
    drawn = _draw(_table(lengths), seq, _POOL * rows * seq, rng)
    packed = (first_fit if packing == "first_fit" else best_fit_decreasing)(drawn, seq)
    chosen = rng.sample(packed[:-1], rows)
    for row in chosen:
        rng.shuffle(row)
    return tuple(map(tuple, chosen))


def _table(lengths: str) -> tuple[LengthBin, ...]:
    if lengths == "pretrain":
        file = PACKAGE / "catalog/pretrain_lengths.csv"
        return parse_table(str(file), file.read_bytes())
    try:
        return read_table(lengths)
    except ValueError as error:
        raise Unsupported(str(error)) from None


def _draw(table: tuple[LengthBin, ...], longest: int, tokens: int, rng: random.Random) -> list[int]:
    """Lengths of documents, truncated to `longest`, until their sum reaches `tokens`."""
    below = list(accumulate(entry.documents for entry in table))
    drawn: list[int] = []
    while tokens > 0:
        shortest, most, _ = table[bisect_left(below, rng.randrange(below[-1]) + 1)]
        drawn.append(min(rng.randint(shortest, most), longest))
        tokens -= drawn[-1]
        if len(drawn) > _MOST_DRAWN:
            raise Unsupported(
                f"rows of {longest} tokens contain too many documents; use longer documents, or a shorter seq"
            )
    return drawn


def first_fit(documents: list[int], capacity: int) -> list[list[int]]:
    """First fit: each document goes into the first row of `capacity` tokens that has room."""
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (row, tokens left) of rows that are not full
    for tokens in documents:
        at = next((i for i, (_, room) in enumerate(rooms) if room >= tokens), len(rooms))
        if at == len(rooms):
            rows.append([])
            rooms.append((len(rows) - 1, capacity))
        row, room = rooms[at]
        rows[row].append(tokens)
        rooms[at : at + 1] = [(row, room - tokens)] if room > tokens else []
    return rows


def best_fit_decreasing(documents: list[int], capacity: int) -> list[list[int]]:
    """Best fit decreasing: the longest document first, each into the fullest row that has room."""
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (tokens left, row), ascending
    for tokens in sorted(documents, reverse=True):
        at = bisect_left(rooms, (tokens, -1))
        if at == len(rooms):
            rows.append([])
            rooms.append((capacity, len(rows) - 1))
        room, row = rooms.pop(at)
        rows[row].append(tokens)
        insort(rooms, (room - tokens, row))
    return rows


SCORE_DISTRIBUTIONS = ("iid", "clustered", "periodic", "tied", "narrow", "zeros")
PERIOD = 2048


def draw_scores(distribution: str, shape: tuple[int, int, int], run: int, rng: Any, dtype: Any) -> Any:
    """Scores [batch, rows, seq] in a numpy dtype, which the caller rounds to its own.

    `iid`: normal. `clustered`: normal, with `run` consecutive columns at a random place raised by 8 standard
    deviations. `periodic`: a cosine with a period of 2048 columns (at most a quarter of the row) plus 0.1
    noise. `tied`: normal, rounded to eighths. `narrow`: normal with mean 64 and standard deviation 1/16, the
    spacing of f16 there. `zeros`: about `run`/2 random columns above 0, all others 0, as after a ReLU: the
    cutoff ties.
    """
    import numpy as np

    seq = shape[-1]
    scores = rng.standard_normal(shape, dtype=dtype)
    column = np.arange(seq)
    if distribution == "clustered":
        first = rng.integers(0, seq - run, size=(*shape[:2], 1), endpoint=True)
        scores += 8 * ((column >= first) & (column < first + run))
    elif distribution == "periodic":
        period = min(PERIOD, max(seq // 4, 1))
        phase = rng.integers(0, period, size=(*shape[:2], 1))
        scores = np.cos(2 * np.pi / period * ((column + phase) % period)) + 0.1 * scores
    elif distribution == "tied":
        scores = np.round(scores * 8) / 8
    elif distribution == "narrow":
        scores = 64 + scores / 16
    elif distribution == "zeros":
        scores = np.where(rng.random(shape, dtype=np.float32) < run / (2 * seq), np.abs(scores), 0)
    return scores
