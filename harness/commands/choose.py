"""`dispatch`: a function that chooses the fastest implementation of one suite, as code or as JSON."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.analysis.choices import Choice, LengthChoices, SuiteChoices, suite_choices
from harness.analysis.results import by_suite
from harness.commands import output
from harness.core.errors import UsageError
from harness.core.shown_text import clean_line
from harness.core.units import format_count
from harness.core.workload import Value, canonical
from harness.report.format import speedup
from harness.report.provenance import provenance
from harness.store.stored_run import Stored
from harness.sweep.project import Project

WIDTH = 110
TEST = """


# Per measured point: the implementations that no other one beats with its whole interval.
NOT_SLOWER = {{
{points}
}}


def test_choose_returns_no_implementation_that_another_beats_beyond_the_interval() -> None:
    for point, not_slower in NOT_SLOWER.items():
        assert choose(*point) in not_slower, point
"""


def choose_function(choices: SuiteChoices, info: Mapping[str, Any]) -> str:
    """The source of a module with a function `choose`, which returns the label to call. `info`: run.json."""
    arguments = ["seq: int", *(f"{name}: {_type(choices, at)}" for at, name in enumerate(choices.axes))]
    lines = [*_comments(_head(choices, info)), "", "", f"def choose({', '.join(arguments)}) -> str:"]
    lines += ['    """The implementation to call."""']
    for values, point in choices.points.items():
        equal = [_equal(*pair) for pair in zip(choices.axes, values, strict=True)]
        lines += [f"    if {' and '.join(equal)}:", *_branches(point, " " * 8)] if equal else _branches(point)
    if choices.axes:
        other = f"Another {' or '.join(choices.axes)} was not measured: use the baseline."
        lines += [*_comments([other], "    "), f"    return {_literal(choices.suite.baseline)}"]
    points = [
        f"    ({', '.join(map(_literal, (seq, *values)))},): {{{', '.join(map(_literal, labels))}}},"
        for values, point in choices.points.items()
        for seq, labels in point.not_slower.items()
    ]
    return "\n".join(lines) + TEST.format(points="\n".join(points))


def _head(choices: SuiteChoices, info: Mapping[str, Any]) -> Iterator[str]:
    lengths = sorted({seq for point in choices.points.values() for seq in point.not_slower})
    fixed = " ".join(f"{name}={canonical(value)}" for name, value in choices.fixed.items())
    yield f"Suite {choices.suite.name}, by seqsweep dispatch from {provenance(choices.suite.records, info)}."
    yield f"Measured: {fixed}; seq {', '.join(map(format_count, lengths))}. Other lengths: as the nearest."
    yield "Intervals: 95 %."
    yield "Undecided: no interval shows which is faster, or nothing was measured; choose() does not switch."
    for label, why in choices.left_out.items():
        yield f"{label} was not considered {why}."
    called = {choice.implementation for point in choices.points.values() for choice in point.choices}
    for label in sorted(choices.inexact & called):
        yield f"{label} is not mathematically equivalent to {choices.suite.baseline}."


def _branches(point: LengthChoices, indent: str = "    ") -> list[str]:
    """Statements that return the label to call, from the longest lengths to the shortest."""
    lines: list[str] = []
    for choice in reversed(point.choices):
        lines += _comments(_evidence(choice, point), indent)
        if choice is not point.choices[0]:
            lines += [
                f"{indent}if seq >= {choice.first}:",
                f"{indent}    return {_literal(choice.implementation)}",
            ]
        else:
            lines.append(f"{indent}return {_literal(choice.implementation)}")
    return lines


def _evidence(choice: Choice, point: LengthChoices) -> Iterator[str]:
    """Sentences on why a choice was made, and at which lengths it is undecided."""
    ratio = choice.speedup
    if choice.reason:
        yield f"{choice.reason}."
    if ratio.value is not None:
        shown, at = speedup(ratio.value, ratio.low, ratio.high), format_count(choice.at)
        yield f"{choice.implementation} is {shown} as fast as {choice.former} at {at}, {ratio.label}."
    if choice.dead_zone is not None:
        begin = format_count(choice.dead_zone[0])
        yield f"Undecided from {begin} to {format_count(choice.first - 1)}: still {choice.former}."
    here = {seq: label for seq, label in point.undecided.items() if point.choice_at(seq) is choice}
    for label in dict.fromkeys(here.values()):
        lengths = ", ".join(format_count(seq) for seq in here if here[seq] == label)
        yield f"Undecided at {lengths}: {label} has the lower median."


def _type(choices: SuiteChoices, at: int) -> str:
    names = {"None" if values[at] is None else type(values[at]).__name__ for values in choices.points}
    return " | ".join(sorted(names))


def _equal(name: str, value: Value) -> str:
    return f"{name} {'is' if value is None or isinstance(value, bool) else '=='} {_literal(value)}"


def _literal(value: Value) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _comments(sentences: Iterable[str], indent: str = "") -> list[str]:
    """Wrapped comment lines, without characters that could end a comment."""
    mark = f"{indent}# "
    return [
        line
        for sentence in map(clean_line, sentences)
        for line in textwrap.wrap(
            sentence, WIDTH, initial_indent=mark, subsequent_indent=mark, break_long_words=False
        )
    ]


def choices_of(project: Project, stored: Stored, *, inexact: bool) -> SuiteChoices:
    """The choices of the selected suite. UsageError unless exactly one suite is selected."""
    suites = [suite for suite in by_suite(stored.info, stored.records) if suite.records]
    if len(suites) != 1:
        known = ", ".join(suite.name for suite in suites) or "none"
        raise UsageError(f"dispatch needs exactly one suite, and the run has {known}; name one")
    family = project.catalog.families.get(suites[0].family)
    defaults = {field.name: field.default for field in family.fields if field.later} if family else {}
    return suite_choices(suites[0], defaults, inexact=inexact)


def print_dispatch(choices: SuiteChoices, stored: Stored, into: Path | None, *, json: bool) -> None:
    """Print the function, or write it to a file. Problems of the stored run go to standard error."""
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
