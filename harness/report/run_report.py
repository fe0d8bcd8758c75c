"""The report of a run on a terminal: tables, footnotes, and the next commands."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.compare_runs import SideBySide
from harness.analysis.results import HOST, SuiteRecords, label_of, representative
from harness.analysis.roofline import gpu_of
from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.grouped import collected
from harness.core.record import Record
from harness.core.typed_command import quick_notes
from harness.core.units import format_count, format_seconds
from harness.report import format as fmt
from harness.report.answer import OTHER, OTHER_CAPTION, answer, far_from_bound, winner_line
from harness.report.format import short_label
from harness.report.memory_limit import limit_of
from harness.report.tables.bounds_table import bound_lines
from harness.report.tables.checks import print_checks
from harness.report.tables.compare_runs import sides_tables
from harness.report.tables.kernels import kernel_lines, kernels_table
from harness.report.tables.listing import origin
from harness.report.tables.max_seq import fits_of, longest_lines, longest_table
from harness.report.tables.render import Legend, Page, print_pages, print_tables
from harness.report.tables.suite import suite_tables
from harness.report.tables.table_data import TableData
from harness.report.tables.targets import (
    collective_lines,
    detail_table,
    growth_table,
    program_lines,
    targets_table,
)
from harness.store.stored_run import without_collector

MOST = 4  # implementations in one sentence


def launch_lines(suite: SuiteRecords) -> list[str]:
    """`Launch-bound: dense below 16Ki (at 4Ki 134 µs on the device, 190 µs from call to result).`"""
    timed = collected(
        (records.label, (records[0].seq, timing))
        for records in suite.by_case.values()
        if (timing := representative(records).timing) is not None and timing.latency_s is not None
    )
    texts: list[str] = []
    for label, cases in timed.items():
        bound = [each for each in cases if each[1].launch_bound]
        if bound:
            seq, timing = max(bound, key=lambda each: each[0])
            longer = [other for other, _ in cases if other > seq]
            where = f"below {format_count(min(longer))}" if longer else f"up to {format_count(seq)}"
            took = f"{format_seconds(timing.median_s)} on the device"
            latency = f"{format_seconds(timing.latency_s or 0.0)} from call to result"
            texts.append(f"{short_label(label)} {where} (at {format_count(seq)} {took}, {latency})")
    more = f"; and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return [f"Launch-bound: {'; '.join(texts[:MOST])}{more}."] if texts else []


WORK = ("compile", "warmup", "contract", "samples")
_TOTALS = {"wall_s", "work_s"}


@without_collector()
def print_run(
    console: Console,
    info: Mapping[str, Any],
    records: Sequence[Record],
    problems: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    notes: bool = False,
) -> None:
    """Print every suite of a run, the harness overhead, the store's problems, and the next commands.

    `columns` have priority on a narrow terminal; columns that are shown only on request are added. `notes`
    shows every footnote instead of one per kind.
    """
    suites = results_of(info, records)
    legend = Legend()
    for note in quick_notes(info):
        console.print(Text(note, style="yellow"))
    if fits := fits_of(suites, info):
        _print_lines(console, longest_lines(fits))
        print_tables(console, longest_table(fits))
    for suite in suites:
        _print_host(console, suite, columns, legend, notes=notes)
        _print_targets(console, info, suite, columns)
    if legend.print(console):
        console.print()
    print_checks(console, records)
    if overhead := info.get("overhead"):
        console.print(Text(overhead_line(overhead)))
    for suite in suites:
        for line in (*program_lines(suite), *launch_lines(suite)):
            console.print(Text(f"{suite.name}: {line}" if len(suites) > 1 else line))
    for problem in problems:
        console.print(Text(f"! {problem}", style="yellow"))
    for line in next_steps(suites, info.get("run")):
        console.print(Text(line, style="dim"), soft_wrap=True)


def _print_host(
    console: Console, suite: SuiteResults, columns: Sequence[str], legend: Legend, *, notes: bool
) -> None:
    """Print the host's tables, below their sentences, unless a run only compiled for other targets."""
    timed = any(record.timing is not None for record in suite.records)
    if not timed and any(target != HOST for target in suite.compiled_targets):
        return
    pages = [
        Page(tables, tuple(filter(None, (*answer(panel), winner_line(panel)))))
        for panel, tables in zip(suite.panels.values(), suite_tables(suite, columns), strict=True)
    ]
    if print_pages(console, pages, legend, few=timed and not notes):
        console.print()
    if any(OTHER in line for page in pages for line in page.lines):
        legend.captions[OTHER_CAPTION] = None


def _print_targets(
    console: Console, info: Mapping[str, Any], suite: SuiteResults, columns: Sequence[str]
) -> None:
    """Print the table of targets, their kernels, and for a single target all other figures."""
    compiled = suite.compiled_targets
    other_targets = any(target != HOST for target in compiled)
    if other_targets:
        memory = {target: limit_of(info, suite.name, target) for target in compiled}
        for panel in (panel for panel in suite.panels.values() if panel.compiled_targets):
            print_tables(console, targets_table(panel, memory), growth_table(panel))
            _print_lines(console, [*bound_lines(panel), *collective_lines(panel)])
            equal = collected(
                (_without(target, kernel_lines(panel, target), kernels_table(panel, target)), target)
                for target in compiled
            )
            _print_lines(console, [line for on in equal.values() for line in kernel_lines(panel, *on)])
            kernels = [table for on in equal.values() if (table := kernels_table(panel, *on)).rows]
            if kernels:
                print_tables(console, *kernels)
    if len(compiled) == 1 and (other_targets or info.get("depth") == "static"):
        for panel in suite.panels.values():
            print_tables(console, detail_table(panel, compiled[0], columns))


def _without(target: str, lines: Sequence[str], table: TableData) -> tuple[object, ...]:
    """A target's kernel lines and rows without its name: equal for targets that share a table."""
    return tuple(line.removeprefix(target) for line in lines), table.rows


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(Text(line))
    if lines:
        console.print()


def overhead_line(overhead: Mapping[str, Any]) -> str:
    """`wall 4 m 12 s: compile 11 %, contract 9 %, samples 62 %; rest: startup 10 %, turns 8 %`.

    Every key in seconds (`…_s`), except totals and per-case figures, is a part of the wall time.
    """
    wall = overhead.get("wall_s")
    if not wall:
        return ""
    parts = {
        name.removesuffix("_s"): value
        for name, value in overhead.items()
        if name.endswith("_s") and not name.endswith("_case_s") and name not in _TOTALS and value is not None
    }
    shares = {name: f"{name} {100 * value / wall:.0f} %" for name, value in parts.items()}
    work = ", ".join(shares.pop(name) for name in WORK if name in shares)
    rest = f"rest: {', '.join(shares.values())}" if shares else ""
    return f"wall {fmt.duration(wall)}: {'; '.join(filter(None, [work, rest]))}"


def print_sides(console: Console, sides: SideBySide, *, notes: bool = False) -> None:
    """Print the comparison of two sides, below lines on their origin and on what limits the comparison.

    Cases of only one side are counted; `notes` lists them.
    """
    console.print(Text(sides.heading, style="bold"), soft_wrap=True)
    for name, run in sides.runs.items():
        when, commit, machine = origin(run)
        console.print(Text(f"{name}: {run.run}, {when} UTC, commit {commit}, {machine}"), soft_wrap=True)
    if sides.differing:
        line = f"! fingerprints differ in {', '.join(sides.differing)}"
        console.print(Text(line, style="yellow"), soft_wrap=True)
    for table in sides_tables(sides.changes, sides.of, sides.to):
        print_tables(console, table)
    for name, cases in sides.only.items():
        if cases:
            named = "\n  ".join(["", *cases]) if notes else " (--notes lists them)"
            console.print(Text(f"only in {name}: {_count_cases(cases)}{named}"), soft_wrap=True)


def next_steps(suites: Sequence[SuiteResults], run: str | None) -> list[str]:
    """One line per suggestion: remedies for failures first, then how to see the results."""
    records = [record for suite in suites for record in suite.records]
    if not records:
        return ["no case was run; seqsweep run --dry-run shows why"]
    run = run or records[-1].run  # the records of a joined run have the ids of its shards
    steps: list[str] = []
    if labels := dict.fromkeys(label_of(record) for record in records if record.unexpected):
        quoted = " ".join(f"'{label}'" if "[" in label else label for label in labels)
        steps.append(f"unexpected correctness: seqsweep check {quoted}")
    cases = {status: {r.case for r in records if r.status == status} for status in ("oom", "timeout")}
    if cases["oom"]:
        names = " ".join(suite.name for suite in suites if any(r.status == "oom" for r in suite.records))
        count = _count_cases(cases["oom"])
        steps.append(
            f"out of memory ({count}): raise --memory; planned memory by length: seqsweep static {names}"
        )
    if cases["timeout"]:
        count = _count_cases(cases["timeout"])
        steps.append(f"timed out ({count}): raise --timeout, or use shorter lengths with --seq")
    for panel in (panel for suite in suites for panel in suite.panels.values()):
        row = far_from_bound(panel)
        gpu = row and gpu_of(row.record, panel.fingerprints)
        if row and gpu and row.roof and row.record.framework == "triton" and not row.roof.why:
            case = f"--impl '{short_label(row.label)}' --seq {format_count(row.seq)} --target {gpu.name}"
            steps.append(f"far from its bound; what its kernels use: seqsweep static {panel.name} {case}")
    chart = ""
    if any(record.timing is not None or record.static for record in records):
        chart = f"seqsweep chart --run {run}  or  "
    return [*steps, f"next: {chart}seqsweep show --run {run} --json"]


def _count_cases(cases: Collection[str]) -> str:
    return f"{len(cases)} case{'s' if len(cases) > 1 else ''}"
