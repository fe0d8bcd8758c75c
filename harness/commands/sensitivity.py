"""`sensitivity`: a suite on every distribution of its family's inputs, measured or read from a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from harness.analysis.results import by_suite
from harness.analysis.sensitivity import FIELD, DrawnCase, Sensitivity, count_ratios, level_of, sensitivities
from harness.analysis.stats import interval_verdict
from harness.commands.output import console, print_json, print_problems
from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData
from harness.sweep.schedule import interleave

if TYPE_CHECKING:
    from harness.core.case import Case
    from harness.store.stored_run import Stored
    from harness.sweep.overrides import Overrides
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule


def plan_distributions(project: Project, suites: Sequence[str], overrides: Overrides) -> Schedule:
    """Plan the suites on every distribution of their family, or on the listed ones, interleaved.

    Sampling stops by intervals at the joint confidence level of all reported ratios, so that there are enough
    rounds for them. UsageError if there is only one distribution.
    """
    schedule = project.plan(suites, replace(overrides, every_choice_of=FIELD))
    if all(len(suite.axes[FIELD]) < 2 for suite in schedule.suites):
        raise UsageError(f"only one {FIELD} is selected; name two, or none to measure all")
    series = (cases for suite in schedule.suites for cases in grouped(suite.cases, _all_else).values())
    return interleave(schedule, FIELD, level_of(count_ratios(series)))


def _all_else(case: Case) -> tuple[object, ...]:
    """A key that is equal for cases that differ only in distribution."""
    fixed = tuple(pair for pair in case.workload if pair[0] != FIELD)
    return case.label, fixed, case.mode, case.device


def print_sensitivity(project: Project, stored: Stored, *, json: bool) -> None:
    """Print the sensitivities of a run's suites. UsageError if no suite has two distributions."""
    print_problems(stored)
    suites = by_suite(stored.info, stored.records)
    known = project.catalog.families
    defaults = {
        name: str(field.default) for name in known for field in known[name].fields if field.name == FIELD
    }
    members = sensitivities(suites, defaults)
    if not members:
        names = " ".join(suite.name for suite in suites) or "SUITE"
        raise UsageError(
            f"the run has no suite with two distributions; measure them: seqsweep sensitivity {names}"
        )
    if json:
        print_json({"sensitivities": [{**one.to_json(), "sentence": sentence(one)} for one in members]})
    else:
        print_sensitivities(console(), members)


RATIO = (
    "to the first: the speedup (for the baseline, the time) divided by that on the first distribution; 95 % "
    "simultaneous intervals."
)
ERROR = "error: RMS difference from the reference, divided by the RMS of the reference; exact: no difference."
RECALL = "recall: share of the largest values that was found, averaged over rows."
COLUMNS = (
    Column("seq"),
    Column("implementation", right=False, folds=True),
    Column(FIELD, right=False),
    Column("time"),
    Column("95 %", rank=2),
    Column("speedup, 95 %", right=False),
    Column("to the first", right=False, caption=RATIO),
    Column("error", rank=1, caption=ERROR),
    Column("recall", rank=1, caption=RECALL),
    Column("status", right=False, rank=3),
)


def print_sensitivities(console: Console, found: Sequence[Sensitivity]) -> None:
    """Print, for each setting, a sentence per implementation (the baseline last), and then the table."""
    for (suite, setting), members in grouped(found, lambda member: (member.suite, member.setting)).items():
        console.print(Text(f"{suite}: {setting}", style="bold"), soft_wrap=True)
        for member in sorted(members, key=lambda member: member.implementation == member.baseline):
            console.print(Text(sentence(member)), soft_wrap=True)
        print_tables(console, _table(members))


def sentence(member: Sensitivity) -> str:
    """`partition: its speedup over exact differs most on zeros at 16Ki: 0.045× [0.041, 0.050] …`."""
    name, largest = fmt.short_label(member.implementation), member.largest
    if largest is None:
        return f"{name} was not timed on both {member.first} and another distribution at any length"
    is_baseline = member.implementation == member.baseline
    what, over = ("time", "") if is_baseline else ("speedup", f" over {fmt.short_label(member.baseline)}")
    where = f"{largest.distribution} at {format_count(largest.record.seq)}"
    ratio = largest.ratio
    doubt = ratio.reason if ratio.low is None else interval_verdict(ratio)
    return (
        f"{name}: its {what}{over} differs most on {where}: "
        f"{fmt.speedup(ratio.value or 1.0, ratio.low, ratio.high)} the {what} on {member.first}"
        f"{'' if largest.is_different else f' ({doubt})'}"
    )


def _table(members: Sequence[Sensitivity]) -> TableData:
    sections = [
        ((format_count(seq), fmt.short_label(member.implementation)), [_row(case) for case in cases])
        for seq in sorted({case.record.seq for member in members for case in member.cases})
        for member in members
        if (cases := [case for case in member.cases if case.record.seq == seq])
    ]
    return TableData.of_sections("", COLUMNS, sections)


def _row(case: DrawnCase) -> tuple[Cell | str, ...]:
    record, time, compared = case.record, case.time, case.compared
    text, bounds = (ABSENT, ABSENT) if time.value is None else fmt.seconds(time.value, time.low, time.high)
    speedup = Cell(ABSENT, sentences(record.reason))
    if compared is not None:
        notes = sentences(record.reason, compared.reason, *compared.notes)
        value = compared.speedup
        speedup = Cell(ABSENT if value is None else fmt.speedup(value, compared.low, compared.high), notes)
    ratio = case.ratio
    change = ABSENT if ratio.value is None else fmt.speedup(ratio.value, ratio.low, ratio.high)
    return case.distribution, text, bounds, speedup, change, *_errors(case), record.status


def _errors(case: DrawnCase) -> Iterator[str]:
    """The error and the recall of a case, if its contract measures them."""
    verdict = case.record.correctness
    figures = verdict.figures if verdict else {}
    rms, recall, different = (figures.get(name) for name in ("relative_rms", "recall", "mismatches"))
    yield f"{rms:.1e}" if isinstance(rms, float) else "exact" if different == 0 else ABSENT
    yield f"{recall:.4f}" if isinstance(recall, (int, float)) else ABSENT
