"""Real document lengths: what they cost against one document as long as the row, and how they divide.

As context parallelism divides rows over ranks the causal work of these is unequal; that is counted.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from harness.analysis.compare_runs import quotient
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import Estimate, time_of
from harness.catalog.packing import PACKERS, packed_rows
from harness.core.errors import Unsupported
from harness.core.record import Record

PACKED = ("lengths", "packing", "packing_seed")  # in this order in `documents`
SINGLE = "single"


@dataclass(frozen=True)
class DocumentLoss:
    """A case of packed documents beside that of `single`, in the same run but not in the same rounds.

    `time` and `work` (FLOPs by the family's formula) are over those of `single`, and `rate` is work over
    time: below 1, a FLOP takes longer than in one long document. Without a formula work and rate are None.
    """

    suite: str
    case: str
    implementation: str
    panel: str
    seq: int
    documents: str  # its lengths; packing and seed, where they are not the defaults
    among: str  # the panel of `single`: equal for what differs in its documents only
    time: Estimate
    work: float | None
    rate: Estimate


def document_losses(suite: SuiteRecords) -> list[DocumentLoss]:
    """The loss of every case whose implementation was also timed on `single`, in the order of the records."""
    single = {_key(case): case for case in suite.by_case.values() if _documents(case) == SINGLE}
    others = (case for case in suite.by_case.values() if _documents(case) != SINGLE and _key(case) in single)
    losses = (_loss(suite.name, case, single[_key(case)]) for case in others)
    return [loss for loss in losses if loss.time.value is not None]


def _loss(suite: str, case: CaseRecords, base: CaseRecords) -> DocumentLoss:
    time = quotient(time_of(case), time_of(base))
    mine, theirs = representative(case).cost.flops, representative(base).cost.flops
    work = mine / theirs if mine and theirs else None
    rate = time.map(lambda ratio: work and work / ratio, falling=True)
    named: dict[str, Any] = {**case.point, "documents": _documents(case), "among": base.panel}
    return DocumentLoss(suite, **named, time=time, work=work, rate=rate)


def _documents(case: CaseRecords) -> str:
    given = {"lengths": "uniform", **case[0].workload}
    if given["lengths"] == SINGLE:  # however it is packed
        return SINGLE
    return " ".join(str(given[name]) for name in PACKED if name in given)


def _key(case: CaseRecords) -> tuple[object, ...]:
    """Equal for cases of one implementation that differ in their documents only."""
    record = case[0]
    same = tuple(sorted((name, value) for name, value in record.workload.items() if name not in PACKED))
    return case.label, same, record.mode, record.device


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
