"""Stored runs, a line each."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from harness.report.format import ABSENT
from harness.report.tables.listing import plain_table
from harness.store.run_summary import FINISHED, RunSummary

HASH_DIGITS = 7
CAPTION = "started: UTC; +: files differed from the commit; machine: with the first digits of its fingerprint"


def origin(run: RunSummary) -> tuple[str, str, str]:
    """(`2026-11-22 17:03`, `31dd830+`, `AMD EPYC dd2e43a`): when, of which code, on which machine."""
    digits = str(run.fingerprint).removeprefix("sha256:")[:HASH_DIGITS]
    return (
        str(run.started)[:16].replace("T", " ") if run.started else ABSENT,
        f"{str(run.commit)[:HASH_DIGITS]}{'+' if run.dirty else ''}" if run.commit else ABSENT,
        f"{run.machine or 'unknown'} {digits}" if run.fingerprint else ABSENT,
    )


def runs_table(runs: Sequence[RunSummary]) -> Group:
    """A line per run, as they come; below them what could not be read."""
    if not runs:
        return Group(Text("No run is stored; seqsweep run makes one."))
    table = plain_table("run", "started", "commit", "machine", "cases", "what became of them", "suites", "")
    for run in runs:
        cases = str(run.cases) if run.cases == run.planned else f"{run.cases} of {run.planned}"
        statuses = ", ".join(f"{count} {status}" for status, count in run.statuses.items())
        state = "" if run.state == FINISHED else run.state
        table.add_row(*map(Text, (run.run, *origin(run), cases, statuses, ", ".join(run.suites), state)))
    problems = [Text(f"! {run.run}: {text}", style="yellow") for run in runs for text in run.problems]
    return Group(table, Text(""), Text(CAPTION), *problems)
