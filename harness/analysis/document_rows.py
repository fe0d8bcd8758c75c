"""Rows of documents as context parallelism divides them: how unequal the causal work of ranks is, counted."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from harness.catalog.packing import PACKERS, packed_rows
from harness.core.errors import Unsupported
from harness.core.record import Record


class DocumentRows(NamedTuple):
    """Tokens of the documents of each row of `seq` tokens; none for a `reason`."""

    lengths: str
    packing: str
    seq: int
    rows: tuple[tuple[int, ...], ...]
    reason: str = ""


def document_rows(record: Record) -> DocumentRows | None:
    """The rows of a record's workload; None where its lengths are drawn with its inputs, or it has none."""
    workload = {"lengths": "uniform", "packing": PACKERS[0], "packing_seed": 0, "batch": 1, **record.workload}
    lengths, packing = str(workload["lengths"]), str(workload["packing"])
    seed, count = int(workload["packing_seed"] or 0), int(workload["batch"] or 1)
    if lengths == "uniform":
        return None
    try:
        return DocumentRows(
            lengths, packing, record.seq, packed_rows(lengths, packing, seed, record.seq, count)
        )
    except Unsupported as error:
        return DocumentRows(lengths, packing, record.seq, (), str(error))


def imbalance(rows: Sequence[Sequence[int]], seq: int, ranks: int, *, zigzag: bool = False) -> float:
    """The causal work of the busiest rank over the mean of all: max(work) / (sum(work) / ranks).

    A token's work is the keys of its own document up to it. Rank r has the r-th of R equal parts of every
    row; with `zigzag` (Llama 3, arXiv 2407.21783, 3.3.2) parts r and 2 R − 1 − r of 2 R, which balances one
    long document.
    """
    parts = 2 * ranks if zigzag else ranks
    work = [0] * ranks
    for row in rows:
        ends = list(accumulate(row, initial=0))
        done = list(accumulate((n * (n + 1) // 2 for n in row), initial=0))
        until = [_work_until(part * seq // parts, ends, done) for part in range(parts + 1)]
        for part in range(parts):
            work[min(part, parts - 1 - part) if zigzag else part] += until[part + 1] - until[part]
    return max(work) * ranks / sum(work)


def _work_until(token: int, ends: Sequence[int], done: Sequence[int]) -> int:
    """Σ of the keys that the tokens before `token` attend to."""
    document = bisect_right(ends, token) - 1
    inside = token - ends[document] if document < len(ends) - 1 else 0
    return done[document] + inside * (inside + 1) // 2
