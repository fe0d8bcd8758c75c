"""Receipt of a run: its statements as data, so that another machine can check each."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.plain_data import from_plain
from harness.core.shown_text import clean_line
from harness.core.version import VERSION
from harness.core.workload import Value
from harness.findings.findings_run import FindingsRun, command_of, commit_of
from harness.findings.panel_verdict import PanelVerdict
from harness.report.answer import describe_model
from harness.report.format import first_few
from harness.report.tables.kernels import warning_lines
from harness.report.tables.suite import fixed_fields, suite_name
from harness.store.run_forms import FactsForm

SCHEMA = 3
_URL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?#@&+,;=%-]{,2000}")


@dataclass(frozen=True)
class TimedRatio:
    """Speedup of a case over its base, from the same rounds. Bounds are None if there was no interval."""

    case: str
    base: str
    ratio: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if not 0 < (self.low or self.ratio) <= (self.high or self.ratio) < float("inf") or self.ratio <= 0:
            raise ValueError(f"{self.case}: invalid ratio of times")


@dataclass(frozen=True)
class JudgedCase:
    """Result of a case's contract. `figures` are the numbers behind it."""

    case: str
    contract: str
    passed: bool
    figures: Mapping[str, Value] = field(default_factory=dict[str, Value])


Statement = TimedRatio | tuple[JudgedCase, ...]


@dataclass(frozen=True)
class ReceiptRow:
    """A case with its time and its ratio. `why` and `why_no_ratio` are the reasons for missing values.

    `equivalent` is False if the case is not mathematically equivalent to the baseline.
    """

    case: str
    seconds: float | None
    low: float | None
    high: float | None
    why: str
    ratio: TimedRatio | None
    why_no_ratio: str
    equivalent: bool = True

    def __post_init__(self) -> None:
        times = [time for time in (self.low, self.seconds, self.high) if time is not None]
        if times != sorted(times) or not all(0 < time < float("inf") for time in times):
            raise ValueError(f"{self.case}: invalid time")


@dataclass(frozen=True)
class ReceiptPanel:
    """Panel of the run; `about` describes how it differs from the receipt's other panels.

    `models` are sentences on the source of a model's fields, `kernels` are warnings about GPU kernels.
    """

    about: str
    answer: str
    rows: tuple[ReceiptRow, ...]
    judged: tuple[JudgedCase, ...]
    models: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Statements that another machine can check separately."""
        ratios = (row.ratio for row in self.rows if row.ratio is not None)
        return (*ratios, *((self.judged,) if self.judged else ()))


@dataclass(frozen=True)
class Receipt:
    """Receipt of a run.

    `budget_s` is the longest sampling budget of a case in its suites, in seconds; 0 if unknown. `shape` has
    the workload's fields that all panels share. `machine` is the fingerprint; `digest` is the hash of all
    records' hashes, in order. `chart` is the URL of a picture, or empty.
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
    shape: str
    panels: tuple[ReceiptPanel, ...]
    chart: str = ""
    version: str = VERSION
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        from_plain(FactsForm, self.machine)
        if not (0 <= self.seed < 1 << 63 and 0 <= self.budget_s < float("inf")):
            raise ValueError(f"seed {self.seed}, budget {self.budget_s} s: negative or too large")
        if self.chart:
            require_picture_url(self.chart)


def require_picture_url(url: str) -> None:
    """Raise ValueError for text that is not a URL, or has a special character of Markdown or HTML."""
    if _URL.fullmatch(url) is None:
        raise ValueError(
            f'"{clean_line(url)[:80]}" is not an http(s) URL of plain characters; write others as %XX'
        )


def receipt_of(run: FindingsRun, chart: str = "") -> Receipt:
    """Make the receipt of a run: answers, times, speedups and contracts per panel."""
    commit, dirty = commit_of(run)
    fingerprints: Mapping[str, Any] = run.info.get("fingerprints") or {}
    settings = [suite.get("settings") or {} for suite in (run.info.get("suites") or {}).values()]
    hashes = "".join(run.hashes[record.key] for record in run.records)
    shapes = [fixed_fields(panel) for panel in run.panels]
    shared = [field for field in next(iter(shapes), []) if all(field in shape for shape in shapes)]
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
        shape=" ".join(shared),
        panels=tuple(_panel(PanelVerdict(run, panel), shared) for panel in run.panels),
        chart=chart,
    )


def _panel(verdict: PanelVerdict, shared: Sequence[str]) -> ReceiptPanel:
    panel = verdict.panel
    own = " ".join(field for field in fixed_fields(panel) if field not in shared)
    sample, name = panel.records[0], f"{suite_name(panel)}: {own}" if own else suite_name(panel)
    contracts = [(row.case, row.record.correctness) for row in panel.cases]
    return ReceiptPanel(
        about=f"{name}, {sample.mode} on {sample.device}",
        answer=verdict.claim(),
        rows=tuple(_row(panel, row) for row in panel.cases) if any(row.timed for row in panel.cases) else (),
        judged=tuple(JudgedCase(case, c.contract, c.passed, c.figures) for case, c in contracts if c),
        models=tuple(map(describe_model, panel.models_here)),
        kernels=tuple(
            first_few([line for name in panel.compiled_targets for line in warning_lines(panel, name)], 6)
        ),
    )


def _row(panel: SuiteResults, row: CaseResult) -> ReceiptRow:
    time, failed, compared = row.time, row.failed, row.compared
    why = f"{failed.status}: {failed.reason}" if failed and failed.reason else row.status
    missing = why if failed or time.value is None else time.reason
    ratio, why_no_ratio = None, "baseline" if row.label == panel.baseline else "no baseline"
    if compared is not None:
        why_no_ratio = compared.cause
    if compared is not None and compared.speedup is not None:
        base = next(r[0].case for r in panel.by_label[panel.baseline] if r[0].seq == compared.seq)
        ratio = TimedRatio(compared.case, base, compared.speedup, compared.low, compared.high)
    equivalent = compared is None or not compared.other_semantics
    return ReceiptRow(
        row.case, time.value, time.low, time.high, missing or "", ratio, why_no_ratio, equivalent
    )
