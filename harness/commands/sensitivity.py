"""`sensitivity`: a suite over the distributions of its family's inputs, measured now or read from a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.analysis.results import by_suite
from harness.analysis.sensitivity import FIELD, count_ratios, level_of, sensitivities
from harness.commands.output import console, print_json, print_problems
from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.sweep.schedule import interleave

if TYPE_CHECKING:
    from harness.core.case import Case
    from harness.store.stored_run import Stored
    from harness.sweep.overrides import Overrides
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule


def plan_distributions(project: Project, suites: Sequence[str], overrides: Overrides) -> Schedule:
    """The suites on every distribution of their family, or on those that they or flags list, interleaved.

    Sampling stops by intervals at the joint level of the ratios to be reported, so that it takes enough
    rounds for them. UsageError where a family, or all suites, have a single distribution.
    """
    schedule = project.plan(suites, replace(overrides, every_choice_of=FIELD))
    if all(len(suite.axes[FIELD]) < 2 for suite in schedule.suites):
        raise UsageError(f"one {FIELD} has nothing to differ from; name two, or none for all of them")
    series = (cases for suite in schedule.suites for cases in grouped(suite.cases, _all_else).values())
    return interleave(schedule, FIELD, level_of(count_ratios(series)))


def _all_else(case: Case) -> tuple[object, ...]:
    """Equal for cases that differ in distribution only."""
    fixed = tuple(pair for pair in case.workload if pair[0] != FIELD)
    return case.label, fixed, case.mode, case.device


def print_sensitivity(project: Project, stored: Stored, *, json: bool) -> None:
    """Print the sensitivities of a run's suites. UsageError where none has two distributions."""
    from harness.report.tables.sensitivity_table import print_sensitivities, sentence

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
