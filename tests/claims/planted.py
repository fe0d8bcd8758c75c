"""Planted documents: a small catalog, claims written as YAML, and evidence made by hand."""

from collections.abc import Mapping
from typing import Any

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.claims.model import ClaimEvidence, Judged, Need
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

SOURCES = """\
sources:
  paper: {title: "Paper #1", of: "Paper #1", version: 1a2b3c4, url: "https://example.org/1", kept: paper}
  letter: {title: "Paper #1, a letter", of: "Paper #1", url: "https://example.org/1/letter"}
  other: {title: "Paper #2", of: "Paper #2", url: "https://example.org/2"}
  blog: {title: "A blog", url: "https://example.org/blog"}
  notes: {title: "Someone's notes"}
"""
CLAIM = """\
{section}:
  - id: one
    says: It is so
    source: {source}
    hardware: {hardware}
    expect: {expect}
"""
BESIDES = """\
claims:
  - {id: besides, says: x, source: paper, hardware: any, expect: adds up,
     figures: [{name: a, published: 1, follows: 1}]}
"""  # a file has claims, whatever stands under context


def document(
    *figures: str,
    source: str = '"paper:3"',
    hardware: str = "any",
    expect: str = "reproduced",
    more: str = "",
    tables: str = "",
    section: str = "claims",
) -> str:
    """A claims.yaml with one claim; `more` is a further key of it, `tables` the file's."""
    text = SOURCES + (f"tables:\n  {tables}\n" if tables else "") + (BESIDES if section == "context" else "")
    text += CLAIM.format(section=section, source=source, hardware=hardware, expect=expect)
    text += f"    {more}\n" if more else ""
    return text + ("    figures:\n" + "".join(f"      - {{{one}}}\n" for one in figures) if figures else "")


def static(program: str | None = None, calls: tuple[str, ...] = (), **figures: Any) -> Static:
    """What a compiler says: the figures given, and of the others that they were not counted."""
    missing = {name: "not counted" for name in STATIC_FIGURES if figures.get(name) is None}
    return Static(**figures, program=program, custom_calls=calls, unavailable=missing)


def evidence(
    wanted: tuple[Need, ...],
    *,
    temp: float | Mapping[Any, float] = 1,
    flops: float = 2.0,
    cost: Cost | str = "no formula",
    status: str | None = "ok",
    passed: bool | None = True,
    absent: str = "",
    lost: tuple[int, ...] = (),
) -> ClaimEvidence:
    """One answer to everything; `temp` may be by target or by length, and `lost` lengths take too long."""
    compiled: dict[Need, CompileResult] = {}
    for need in wanted:
        if need.kind != Need.COMPILE:
            continue
        if absent and need.target != "host":
            compiled[need] = CompileResult.failed("unsupported", absent, transient=True)
        elif need.case.seq in lost:
            compiled[need] = CompileResult.failed("timeout", "60 s")
        else:
            bytes_ = temp if not isinstance(temp, Mapping) else temp.get(need.target, temp.get(need.case.seq))
            told = static("sha256:0", ("TopK",), temp_bytes=bytes_, flops=flops, opcodes={"sort": 1})
            compiled[need] = CompileResult("ok", told, facts={"path": "fast"})
    return ClaimEvidence(
        compiled,
        {need: cost for need in wanted if need.kind == Need.COST},
        {n: Judged(status, "", {n.check: passed} if n.check else {}) for n in wanted if n.kind == Need.JUDGE},
    )
