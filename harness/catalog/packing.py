"""Packing documents into rows: lengths drawn from a distribution, then first-fit or best-fit decreasing.

`pretrain` is a published histogram of the lengths of 13 463 214 documents: MagiAttention (2c64135,
exps/dist_attn/benchmark/datasets/default/doc_length_distribution.csv, Apache-2.0). Within a bin all lengths
are equally likely. Its benchmark cuts documents at a quarter of the row, and where a row ends; here none is
cut in two: one that is longer than a row is truncated to it, as by OLMo-core's `LongDocStrategy.truncate`.

Packers: best-fit decreasing as OLMo-core #260, first-fit as trl #3521. A row is one of many: of four times as
many as are asked for some are drawn, and never the last opened, which nothing came to fill.

A row belongs to its case, as shapes and FLOPs do, so that it is drawn from `packing_seed` alone, by Python's
generator: the same on every machine, whatever seed the inputs have.
"""

import random
from bisect import bisect_left, insort
from functools import lru_cache
from itertools import accumulate

from harness.core.errors import Unsupported
from harness.core.length_table import LengthBin, parse_table, read_table
from harness.core.paths import PACKAGE

LENGTHS = ("uniform", "pretrain", "single")
PACKERS = ("first_fit", "best_fit_decreasing")
_POOL = 4  # rows packed for each that is returned
_MOST_DRAWN = 1 << 18  # documents: seconds of packing


@lru_cache(maxsize=64)
def packed_rows(lengths: str, packing: str, seed: int, seq: int, rows: int) -> tuple[tuple[int, ...], ...]:
    """Tokens of the documents of each of `rows` rows, in their order, at most `seq` in a row together.

    `lengths` is `pretrain`, `single` (one document as long as the row) or a CSV file by :func:`identify`.
    Unsupported for a file that is no longer what it was, and for documents too short for so many tokens.
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
    """Lengths of documents, at most `longest`, until there are `tokens` together."""
    below = list(accumulate(entry.documents for entry in table))
    drawn: list[int] = []
    while tokens > 0:
        shortest, most, _ = table[bisect_left(below, rng.randrange(below[-1]) + 1)]
        drawn.append(min(rng.randint(shortest, most), longest))
        tokens -= drawn[-1]
        if len(drawn) > _MOST_DRAWN:
            raise Unsupported(
                f"rows of {longest} tokens hold too many documents; use longer ones, or a shorter seq"
            )
    return drawn


def first_fit(documents: list[int], capacity: int) -> list[list[int]]:
    """Rows of at most `capacity` tokens: each document, as it comes, in the first that has room."""
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (row, tokens left), of rows that have any
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
    """Rows of at most `capacity` tokens: the longest document first, each where least room is left."""
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
