"""The suites of a run on a terminal: tables, what they rest on, and what to type next."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.query import by_suite
from harness.analysis.sides import Change
from harness.report import figures
from harness.report.advice import next_steps
from harness.report.checks import print_checks
from harness.report.render import print_tables
from harness.report.sides import sides_tables
from harness.report.table import suite_tables
from harness.spec.record import Record

WORK = ("compile", "contract", "samples")
UNNAMED = 0.005  # a smaller share is what rounding leaves
_TOTALS = {"wall_s", "work_s"}


def print_run(
    console: Console,
    info: Mapping[str, Any],
    records: Sequence[Record],
    overhead: Mapping[str, Any] | None = None,
    problems: Sequence[str] = (),
) -> None:
    """Every suite of a run, the share of the harness, what the store found, the next commands."""
    suites = by_suite(info, records)
    for suite in suites:
        for cases, growth in suite_tables(suite):
            print_tables(console, cases, growth)
    print_checks(console, records)
    if overhead:
        console.print(Text(overhead_line(overhead)))
    for problem in problems:
        console.print(Text(f"! {problem}", style="yellow"))
    for line in next_steps(suites):
        console.print(Text(line, style="dim"), soft_wrap=True)


def overhead_line(overhead: Mapping[str, Any]) -> str:
    """`wall 4 m 12 s: compile 11 %, contract 9 %, samples 62 %; rest: startup 10 %, turns 8 %`.

    Every key in seconds (`…_s`) is a part of the wall time, but for the totals and per-case figures.
    """
    wall = overhead.get("wall_s")
    if not wall:
        return ""
    parts = {
        name.removesuffix("_s"): value
        for name, value in overhead.items()
        if name.endswith("_s") and not name.endswith("_case_s") and name not in _TOTALS and value is not None
    }
    work = [name for name in WORK if name in parts]
    rest = [name for name in parts if name not in WORK]
    unnamed = wall - sum(parts.values())
    shares = ", ".join(f"{name} {_share(parts[name], wall)}" for name in work)
    others = [f"{name} {_share(parts[name], wall)}" for name in rest]
    if unnamed / wall >= UNNAMED:
        others.append(f"other {_share(unnamed, wall)}")
    tail = f"rest: {', '.join(others)}" if others else ""
    return f"wall {figures.duration(wall)}: {'; '.join(filter(None, [shares, tail]))}"


def _share(seconds: float, wall: float) -> str:
    return f"{100 * seconds / wall:.0f} %"


def print_sides(
    console: Console, changes: Sequence[Change], heading: str, differing: Sequence[str] = ()
) -> None:
    """Two sides beside each other, under what they may be taken for."""
    console.print(Text(heading, style="bold"), soft_wrap=True)
    if differing:
        console.print(
            Text(f"! fingerprints differ in {', '.join(differing)}", style="yellow"), soft_wrap=True
        )
    for table in sides_tables(changes):
        print_tables(console, table)
