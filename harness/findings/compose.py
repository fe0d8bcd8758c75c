"""The findings document of stored runs: which section says what, in the order of reading."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from harness.analysis.suite_results import SuiteResults
from harness.claims.model import Claim
from harness.core.shown_text import clean_line
from harness.findings import background, elsewhere
from harness.findings.document import Document, Part, Picture, Section
from harness.findings.figures_table import figures_part, unmeasured_part
from harness.findings.kept_run import KeptRun
from harness.findings.panel_verdict import overturn_part, verdict_part
from harness.report.format import short_label

TITLES = {
    "verdict": "What was found",
    "chart": "Charts",
    "overturn": "What would overturn it",
    "table": "Every case",
    "replay": "How to replay it",
    "errors": "Known errors of the data",
    "profile": "Where the time goes",
    "plans": "Plans for devices that are absent",
    "claims": "Published claims that do not hold",
    "method": "Machine, noise, method",
}
NO_ERRORS = Part(sentences=("None is known. A notes.md in a run's folder would stand here.",))


def compose(
    runs: Sequence[KeptRun], claims: Sequence[Claim] = (), lock: Path | None = None, *, charts: bool = True
) -> Document:
    """The document; `lock` is the file that pins versions. Sections without anything to say are left out.

    `claims` are those of the runs' families. Charts are drawn where asked for.
    """
    timed = [
        (run, panel) for run in runs if run.depth != "profile" for panel in run.panels if _is_timed(panel)
    ]
    plans = [elsewhere.plans_part(run, panel) for run in runs for panel in run.panels]
    parts: dict[str, list[Part | None]] = {
        "verdict": [verdict_part(run, panel) for run, panel in timed],
        "chart": list(_charts(timed)) if charts else [],
        "overturn": [overturn_part(panel) for _, panel in timed],
        "table": [*(figures_part(run, panel) for run, panel in timed), *map(unmeasured_part, runs)],
        "replay": [background.replay_part(run, lock) for run in runs],
        "errors": [*filter(None, map(background.errors_part, runs))] or [NO_ERRORS],
        "profile": list(chain.from_iterable(map(elsewhere.profile_parts, runs))),
        "plans": plans,
        "claims": [elsewhere.claims_part(claims)] if claims else [],
        "method": [background.method_part(runs)],
    }
    sections = ((key, tuple(part for part in parts[key] if part is not None)) for key in TITLES)
    return Document(tuple(Section(key, TITLES[key], said) for key, said in sections if said))


def _is_timed(panel: SuiteResults) -> bool:
    return any(row.timed for row in panel.cases)


def _charts(timed: Sequence[tuple[KeptRun, SuiteResults]]) -> Sequence[Part]:
    """A speedup chart of every suite that has a baseline, a latency chart of the others."""
    from harness.report.charts import draw_suite

    suites = {(run.name, panel.name): run for run, panel in timed}
    parts: list[Part] = []
    for (_, name), run in suites.items():
        suite = next(suite for suite in run.suites if suite.name == name)
        kind = "speedup" if suite.baseline else "latency"
        svg = draw_suite(suite, run.info, kinds=(kind,))[kind]
        says = f"speedup over {short_label(suite.baseline)}" if suite.baseline else "latency"
        picture = Picture(f"{clean_line(name).replace('/', '-')}-{kind}.svg", svg, f"{name}: {says}")
        parts.append(Part(name, picture=picture))
    return parts
