"""The cost of real document lengths to an implementation, against one document as long as the row."""

from dataclasses import dataclass
from typing import Any

from harness.analysis.compare_runs import quotient
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import Estimate, time_of

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
