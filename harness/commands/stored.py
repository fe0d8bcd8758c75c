"""Stored runs: the selected part of one, the list of all, and one case over all runs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from harness.analysis.filter import Selection, rebase
from harness.analysis.history import CaseHistory, RunMedian
from harness.analysis.roofline import known_rooflines
from harness.commands.output import console, print_json, print_note
from harness.core.grouped import collected
from harness.core.typed_command import QUICK, QUICK_NOTE
from harness.report import format as fmt
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData
from harness.store.find import all_runs, find
from harness.store.run_summary import RunSummary, summarise
from harness.store.stored_run import Stored, without_collector
from harness.sweep.project import Project


def read_run(project: Project, name: str, selection: Selection, baseline: str | None = None) -> Stored:
    """Read the selected part of a stored run, relative to another baseline if one is named.

    Its info also has the rooflines known here, and those in its folder.
    """
    folder = find(project.results, name)
    problems: list[str] = []
    with without_collector():
        info, records = selection.of(folder.info_with_fingerprints(problems), folder.records(problems))
    info = info if baseline is None else rebase(info, baseline)
    rooflines = known_rooflines(project.results, folder.path)
    return Stored({**info, "rooflines": rooflines}, tuple(records), tuple(problems))


def draw_charts(project: Project, stored: Stored, folder: Path | None, *, png: bool) -> list[Path]:
    """Draw a run's charts into the folder (default: charts/ next to bench.yaml), and return the files.

    Published curves of the run's families are drawn with the measured ones.
    """
    from harness.analysis.suite_results import results_of
    from harness.profile.charts import draw_profiles
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
    """Print the medians of cases over all runs of this machine."""
    from harness.analysis.history import read_histories
    from harness.commands.compare import TREND

    histories = read_histories(results, cases, print_note)
    heading = f"a trend, {TREND}"
    if json:
        print_json({"trend": True, "heading": heading, "cases": [asdict(case) for case in histories]})
    else:
        print_histories(console(), histories, heading)


DIRTY = "+: with uncommitted changes."
COLUMNS = (
    Column("run", right=False),
    Column("started, UTC", rank=3, right=False),
    Column("commit", rank=2, right=False, caption=DIRTY),
    Column("time"),
    Column("95 %", rank=1),
    Column("time / time before", right=False),
    Column("", right=False, folds=True),
)


def print_histories(console: Console, histories: Sequence[CaseHistory], heading: str) -> None:
    """Print a table per case, under a heading on how comparable its times are.

    Below it are the noisy runs, and the runs of other machines with what differs.
    """
    console.print(Text(heading, style="bold"), soft_wrap=True)
    for history in histories:
        rows = tuple(_cells(median) for median in history.medians)
        print_tables(console, TableData(history.case, COLUMNS, rows))
        whys = [(QUICK_NOTE, median.run) for median in history.medians if median.quick]
        whys += [(f"left out, another machine: {why}", run) for run, why in history.left_out.items()]
        for why, ids in collected(whys).items():
            console.print(Text(f"{len(ids)} run{'s' * (len(ids) > 1)}, {ids[-1]}: {why}"))


def _cells(median: RunMedian) -> tuple[Cell, ...]:
    time, ratio = median.time, median.ratio
    status = " ".join([median.status] * (median.status != "ok") + [QUICK] * median.quick)
    heads = (Cell(median.run), Cell(fmt.minute(median.started)), Cell(median.commit or ABSENT))
    if time.value is None:
        return (*heads, Cell(ABSENT), Cell(ABSENT), Cell(ABSENT), Cell(status, sentences(median.reason)))
    text, bounds = fmt.seconds(time.value, time.low, time.high)
    change = ABSENT if ratio.value is None else fmt.speedup(ratio.value, ratio.low, ratio.high)
    why = sentences(f"no interval: {time.reason}" if time.low is None else None, *time.warnings)
    return (*heads, Cell(text, why), Cell(bounds), Cell(change), Cell(status))
