"""A receipt: what a run showed as data, line by line, so that another machine can check each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.compare import Comparison
from harness.analysis.suite_results import CaseResult
from harness.core.errors import require_member
from harness.core.grouped import grouped
from harness.core.plain_data import from_plain
from harness.core.version import VERSION
from harness.core.workload import Value
from harness.findings.background import command_of, commit_of
from harness.findings.kept_run import KeptRun
from harness.findings.panel_verdict import PanelVerdict
from harness.store.run_forms import FactsForm

VERDICT, CROSSOVER, FITS, CORRECT = KINDS = ("verdict", "crossover", "fits", "correct")
SCHEMA = 1


@dataclass(frozen=True)
class TimedRatio:
    """How much faster a case was than its base, from the same rounds. No bounds: there was no interval."""

    case: str
    base: str
    ratio: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if not 0 < (self.low or self.ratio) <= (self.high or self.ratio) < float("inf") or self.ratio <= 0:
            raise ValueError(f"{self.case}: no ratio of times")


@dataclass(frozen=True)
class CasePlan:
    """What a compiler plans for a case, in bytes, and whether that fits the target."""

    case: str
    bytes: int | None
    fits: bool


@dataclass(frozen=True)
class JudgedCase:
    """What a case's contract said. `figures` are the numbers that it was decided on."""

    case: str
    contract: str
    passed: bool
    figures: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True)
class ReceiptLine:
    """One statement: of ratios (VERDICT, CROSSOVER), of plans for a target (FITS), of contracts (CORRECT)."""

    kind: str
    about: str
    target: str = ""
    ratios: tuple[TimedRatio, ...] = ()
    plans: tuple[CasePlan, ...] = ()
    judged: tuple[JudgedCase, ...] = ()

    def __post_init__(self) -> None:
        require_member("kind", self.kind, KINDS)


@dataclass(frozen=True)
class Receipt:
    """`budget_s` is the longest that a suite sampled a case for, in seconds; 0 where that is not known.

    `machine` is the fingerprint, `digest` is over the hashes of all records' lines, in their order.
    `gate` is a sentence on the newest gate stored where the receipt was made; empty without one.
    """

    run: str
    command: str
    commit: str
    dirty: bool
    seed: int
    budget_s: float
    machine: Mapping[str, Any]
    records: int
    digest: str
    lines: tuple[ReceiptLine, ...]
    gate: str = ""
    version: str = VERSION
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        from_plain(FactsForm, self.machine)
        if not (0 <= self.seed < 1 << 63 and 0 <= self.budget_s < float("inf")):
            raise ValueError(
                f"seed {self.seed}, budget {self.budget_s} s: neither may be negative, or beyond"
            )


def receipt_of(run: KeptRun, gate: str = "") -> Receipt:
    """The receipt of a run: per panel its verdict and crossover, what fits each target, and its contracts."""
    panels = [PanelVerdict(run, panel) for panel in run.panels]
    commit, dirty = commit_of(run)
    fingerprints: Mapping[str, Any] = run.info.get("fingerprints") or {}
    settings = [suite.get("settings") or {} for suite in (run.info.get("suites") or {}).values()]
    hashes = "".join(run.hashes[record.key] for record in run.records)
    return Receipt(
        run=str(run.info.get("run") or run.name),
        command=command_of(run),
        commit=commit,
        dirty=dirty,
        seed=next((record.seed for record in run.records), 0),
        budget_s=max((suite["budget_s"] for suite in settings if "budget_s" in suite), default=0.0),
        machine=next(iter(fingerprints.values()), {}),
        records=len(run.records),
        digest=hashlib.sha256(hashes.encode()).hexdigest(),
        lines=tuple(line for judged in panels for line in _lines(judged)),
        gate=gate,
    )


def _lines(judged: PanelVerdict) -> Iterable[ReceiptLine]:
    finding, crossing, about = judged.finding, judged.crossover, judged.heading
    if finding is not None:
        bounded = [compared for compared in judged.series if compared.low is not None]
        shown = {compared.seq: compared for compared in (*bounded[-1:], finding.compared)}
        yield ReceiptLine(VERDICT, about, ratios=tuple(_ratio(judged, shown[seq]) for seq in sorted(shown)))
    if crossing is not None and judged.before is not None:
        after = next(compared for compared in judged.series if compared.seq == crossing.first_grid)
        yield ReceiptLine(CROSSOVER, about, ratios=(_ratio(judged, judged.before), _ratio(judged, after)))
    for target in judged.panel.compiled_targets:
        plans = tuple(_boundary_plans(judged.panel.cases_on(target)))
        if plans:
            yield ReceiptLine(FITS, about, target, plans=plans)
    contracts = [(row.case, row.record.correctness) for row in judged.panel.cases]
    verdicts = tuple(JudgedCase(case, c.contract, c.passed, c.figures) for case, c in contracts if c)
    if verdicts:
        yield ReceiptLine(CORRECT, about, judged=verdicts)


def _ratio(judged: PanelVerdict, compared: Comparison) -> TimedRatio:
    label = judged.panel.baseline
    base = next(r[0].case for r in judged.panel.by_label[label] if r[0].seq == compared.seq)
    return TimedRatio(compared.case, base, compared.speedup or 0.0, compared.low, compared.high)


def _boundary_plans(rows: Iterable[CaseResult]) -> Iterable[CasePlan]:
    """Per implementation the longest case that fits, and the shortest that does not."""
    planned = ((row, row.static) for row in rows if row.static is not None and row.static.fits is not None)
    for cases in grouped(planned, lambda case: case[0].label).values():
        inside = [case for case in cases if case[1].fits]
        outside = [case for case in cases if not case[1].fits]
        for row, static in (*inside[-1:], *outside[:1]):
            yield CasePlan(row.case, static.planned_bytes, fits=static.fits is True)
