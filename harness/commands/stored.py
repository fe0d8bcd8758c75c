"""Stored runs: the part of one that `show` and `chart` select, the list of all, and a case over all."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.analysis.filter import Selection, rebase
from harness.commands.measured_rooflines import known_rooflines
from harness.commands.output import console, print_json, print_note
from harness.store.find import all_runs, find
from harness.store.run_summary import RunSummary, summarise
from harness.store.stored_run import Stored, without_collector
from harness.sweep.project import Project


def read_run(
    project: Project, name: str, selection: Selection, baseline: str | None = None, *, rooflines: bool = False
) -> Stored:
    """The part of a stored run that the selection keeps, relative to another baseline if one is named.

    With `rooflines` its info has the ceilings that were measured here.
    """
    folder = find(project.results, name)
    problems: list[str] = []
    with without_collector():
        info, records = selection.of(folder.info_with_fingerprints(problems), folder.records(problems))
    info = info if baseline is None else rebase(info, baseline)
    if rooflines:
        info = {**info, "rooflines": known_rooflines(project.results)}
    return Stored(info, tuple(records), tuple(problems))


def draw_charts(project: Project, stored: Stored, folder: Path | None, *, png: bool) -> list[Path]:
    """Draw a run's charts into the folder, or into charts/ beside bench.yaml; the files.

    Published curves of the run's families are drawn with its own.
    """
    from harness.analysis.suite_results import results_of
    from harness.profile.charts.draw import draw_profiles
    from harness.report.charts import draw_run
    from harness.report.charts.model import published_curves
    from harness.store.atomic import write_files

    curves = published_curves({record.family for record in stored.records})
    suites = results_of(stored.info, stored.records)
    charts = draw_run(stored.info, suites, curves, png=png)
    charts.update(draw_profiles(stored.info, suites, png=png))
    return write_files(folder or project.config.home / "charts", charts)


def list_runs(results: Path) -> list[RunSummary]:
    """The runs under `results`, newest first."""
    with without_collector():
        return [summarise(folder) for folder in reversed(all_runs(results))]


def print_trends(results: Path, cases: Sequence[str], *, json: bool) -> None:
    """Print the medians of cases, run after run on one machine."""
    from harness.analysis.history import read_histories
    from harness.commands.compare import TREND
    from harness.report.tables.history import print_histories

    histories = read_histories(results, cases, print_note)
    heading = f"a trend, {TREND}"
    if json:
        print_json({"trend": True, "heading": heading, "cases": [asdict(case) for case in histories]})
    else:
        print_histories(console(), histories, heading)
