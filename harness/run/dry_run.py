"""Dry run: the number of cases of each suite, and their sampling time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.case import Case
from harness.sweep.schedule import Schedule
from harness.sweep.settings import Settings
from harness.sweep.suite import Suite


@dataclass(frozen=True)
class PlannedSuite:
    """The cases of a suite. `axes` maps each field with several values to their number.

    `cases` are the ids of cases that can run; `impossible` maps the other ids to the reason. `budget_s` is
    the sum of the sampling budgets over all replicates, without compilation and verification.
    """

    suite: str
    axes: Mapping[str, int]
    modes: int
    devices: int
    implementations: int
    cases: Sequence[str]
    impossible: Mapping[str, str]
    budget_s: float
    baseline: str
    settings: Settings


def count_cases(schedule: Schedule) -> tuple[list[PlannedSuite], int, float]:
    """(suites, cases of all suites together, seconds of their budgets). Nothing is compiled.

    A case that several suites share counts once in the total.
    """
    reasons = {skip.case: skip.reason for skip in schedule.skips}
    replicates, groups = schedule.replicates, schedule.groups
    return (
        [_count_suite(suite, reasons, replicates) for suite in schedule.suites],
        len(schedule.cases) * replicates,
        sum(len(group.cases) * group.settings.budget_s for group in groups) * replicates,
    )


def _count_suite(suite: Suite, reasons: Mapping[Case, str], replicates: int) -> PlannedSuite:
    running = [case.id for case in suite.cases if case not in reasons]
    return PlannedSuite(
        suite=suite.name,
        axes={name: len(values) for name, values in suite.axes.items() if len(values) > 1},
        modes=len(suite.modes),
        devices=len(suite.devices),
        implementations=len(suite.implementations),
        cases=running,
        impossible={case.id: reasons[case] for case in suite.cases if case in reasons},
        budget_s=len(running) * suite.settings.budget_s * replicates,
        baseline=suite.baseline,
        settings=suite.settings,
    )
