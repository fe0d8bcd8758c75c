"""The findings document of stored runs: which section says what, in the order of reading."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from harness.core.shown_text import file_name
from harness.findings import background, elsewhere
from harness.findings.document import Document, Part, Picture, Section
from harness.findings.figures_table import figures_part, unmeasured_part
from harness.findings.kept_run import KeptRun
from harness.findings.panel_verdict import PanelVerdict
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
    runs: Sequence[KeptRun], claims: Part | None = None, lock: Path | None = None, *, charts: bool = True
) -> Document:
    """The document; `lock` is the file that pins versions. Sections without anything to say are left out.

    `claims` is the part about published claims of the runs' families. Charts are drawn where asked for.
    """
    swept = [PanelVerdict(run, panel) for run in runs if run.depth != "profile" for panel in run.panels]
    timed = [judged for judged in swept if any(row.timed for row in judged.panel.cases)]
    parts: dict[str, list[Part | None]] = {
        "verdict": [*elsewhere.machine_parts(runs), *(judged.verdict_part() for judged in timed)],
        "chart": list(_charts(timed)) if charts else [],
        "overturn": [judged.overturn_part() for judged in timed],
        "table": [*map(figures_part, timed), *map(unmeasured_part, runs)],
        "replay": [background.replay_part(run, lock) for run in runs],
        "errors": [*filter(None, map(background.errors_part, runs))] or [NO_ERRORS],
        "profile": list(chain.from_iterable(map(elsewhere.profile_parts, runs))),
        "plans": list(map(elsewhere.plans_part, swept)),
        "claims": [claims],
        "method": [background.method_part(runs)],
    }
    sections = ((key, tuple(part for part in parts[key] if part is not None)) for key in TITLES)
    return Document(tuple(Section(key, TITLES[key], said) for key, said in sections if said))


def _charts(timed: Sequence[PanelVerdict]) -> Iterable[Part]:
    """A speedup chart of every suite that has speedups, a latency chart of the others."""
    from harness.report.charts import draw_suite

    names: set[str] = set()
    for run, name in dict.fromkeys((judged.run, judged.panel.name) for judged in timed):
        suite = next(suite for suite in run.suites if suite.name == name)
        compared = any(c.speedup is not None for c in suite.comparisons)
        kind = "speedup" if compared else "latency"
        says = f"{name}: speedup over {short_label(suite.baseline)}" if compared else f"{name}: latency"
        stem = file_name(name)
        file = f"{stem}-{kind}.svg" if stem not in names else f"{stem}-{kind}-{run.info.get('run')}.svg"
        names.add(stem)
        yield Part(name, picture=Picture(file, draw_suite(suite, run.info, kinds=(kind,))[kind], says))
