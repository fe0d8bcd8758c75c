"""`dispatch`: the choices of one suite of a stored run, printed as a function or as JSON."""

from pathlib import Path
from typing import Any

from harness.analysis.choices import SuiteChoices, suite_choices
from harness.analysis.results import by_suite
from harness.commands import output
from harness.core.errors import UsageError
from harness.report.choose_function import choose_function
from harness.store.stored_run import Stored
from harness.sweep.project import Project


def choices_of(project: Project, stored: Stored, *, inexact: bool) -> SuiteChoices:
    """The choices of the one suite that the run was narrowed to. UsageError where it has several."""
    suites = [suite for suite in by_suite(stored.info, stored.records) if suite.records]
    if len(suites) != 1:
        known = ", ".join(suite.name for suite in suites) or "none"
        raise UsageError(f"dispatch takes one suite of the run; it has {known}")
    family = project.catalog.families.get(suites[0].family)
    defaults = {field.name: field.default for field in family.fields if field.later} if family else {}
    return suite_choices(suites[0], defaults, inexact=inexact)


def print_dispatch(choices: SuiteChoices, stored: Stored, into: Path | None, *, json: bool) -> None:
    """Print the function, or write it; problems of the stored run go to standard error."""
    code = choose_function(choices, stored.info)
    output.print_problems(stored)
    if into is not None:
        output.write_data(code.encode(), into, "--into")
    if json:
        output.print_json({**_data(choices), "code": code})
    elif into is None:
        output.write_data(code.encode(), None)
    else:
        output.print_note(f"wrote {into}")


def _data(choices: SuiteChoices) -> dict[str, Any]:
    points = [
        {
            **dict(zip(choices.axes, values, strict=True)),
            "choices": [
                {
                    **vars(choice),
                    "speedup": choice.speedup.flat_fields("value", "low", "high", "unit", "samples"),
                }
                for choice in point.choices
            ],
            "undecided": {str(seq): label for seq, label in point.undecided.items()},
        }
        for values, point in choices.points.items()
    ]
    return {"suite": choices.suite.name, "axes": choices.axes, "points": points, "left_out": choices.left_out}
