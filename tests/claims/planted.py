"""Planted documents: a small catalog, a claims.py with one claim, and hand-made evidence."""

from collections.abc import Mapping
from typing import Any

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.claims.model import ClaimEvidence, ContractOutcome, EvidenceRequest
from harness.core.record import Cost
from harness.core.static_figures import STATIC_FIGURES, Static
from harness.core.workload import Field
from harness.run.compile.request import CompileResult

FIELDS = (
    Field("rows", "int", required=False, default=4),
    Field("seq", "int", required=False, default=8),
    Field("topk", "int", required=False, default=2),
    Field("width", "int", required=True),
)


def implementation(id_: str) -> ImplementationInfo:
    options = (Field("keep", "int", required=False, default=2),) if id_.endswith("/b") else ()
    framework = "torch" if id_.endswith("/t") else "jax"
    return ImplementationInfo(id_, framework, "exact", options, "", None, "m", "a.py", 1, "sha256:0")


CHECKS = {"order": "what if the indices stand in another order?", "twice": "and twice?"}
FAMILY = FamilyInfo("mask", "?", FIELDS[:3], ("exact",), ("fwd", "bwd"), "family.py", checks=CHECKS)
WIDE = FamilyInfo("wide", "?", FIELDS, ("exact",), ("fwd",), "wide/family.py")
PLANTED = ("mask/a", "mask/b", "mask/t", "wide/a")
CATALOG = Catalog({"mask": FAMILY, "wide": WIDE}, {name: implementation(name) for name in PLANTED})

HEAD = """\
from harness.claims import *

PAPER = Source("Paper #1", "https://example.org/1", of="Paper #1", version="1a2b3c4", stored="paper")
LETTER = Source("Paper #1, a letter", "https://example.org/1/letter", of="Paper #1")
OTHER = Source("Paper #2", "https://example.org/2", of="Paper #2")
BLOG = Source("A blog", "https://example.org/blog")
"""


def document(
    *figures: str,
    source: str = 'PAPER["3"]',
    on: str = "any",
    expect: str = "reproduced",
    because: str = "",
    table: str = "",
    more: str = "",
) -> str:
    """Text of a claims.py with one claim; `more` are further arguments, `table` is its table."""
    given = [repr(expect), source, f"on={on!r}", *(["table=T"] if table else []), *([more] if more else [])]
    text = f"{HEAD}T = {table}\n" if table else HEAD
    text += f'\n@Claim({", ".join(given)})\ndef one(e):\n    """It is so\n\n    {because}"""\n'
    return text + "".join(f"    {one if 'yield' in one else f'yield Figure({one})'}\n" for one in figures)


def static(program: str | None = None, calls: tuple[str, ...] = (), **figures: Any) -> Static:
    """Static figures with these values; others are unavailable."""
    missing = {name: "not counted" for name in STATIC_FIGURES if figures.get(name) is None}
    return Static(**figures, program=program, custom_calls=calls, unavailable=missing)


def evidence(
    wanted: tuple[EvidenceRequest, ...],
    *,
    temp: float | Mapping[Any, float] = 1,
    flops: float = 2.0,
    cost: Cost | str = "no formula",
    status: str | None = "ok",
    passed: bool | None = True,
    absent: str = "",
    lost: tuple[int, ...] = (),
) -> ClaimEvidence:
    """The same evidence for all requests; `temp` may be by target or length, `lost` lengths time out."""
    answers: dict[EvidenceRequest, Any] = {}
    for need in wanted:
        if need.kind == EvidenceRequest.COST:
            answers[need] = cost
        elif need.kind == EvidenceRequest.CONTRACT:
            answers[need] = ContractOutcome(status, "", {need.check: passed} if need.check else {})
        elif absent and need.target != "host":
            answers[need] = CompileResult.failed("unsupported", absent, transient=True)
        elif need.case.seq in lost:
            answers[need] = CompileResult.failed("timeout", "60 s")
        else:
            bytes_ = temp if not isinstance(temp, Mapping) else temp.get(need.target, temp.get(need.case.seq))
            told = static("sha256:0", ("TopK",), temp_bytes=bytes_, flops=flops, opcodes={"sort": 1})
            answers[need] = CompileResult("ok", told, facts={"path": "fast"})
    return answers
