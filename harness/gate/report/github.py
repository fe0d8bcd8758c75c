"""A gate on GitHub: annotations at the lines of implementations, and a summary of the job.

GitHub shows ten annotations of a level per step and silently drops the rest, so the tenth one counts those
that are not shown.
"""

from io import StringIO
from pathlib import Path

from rich.console import Console

from harness.core.shown_text import clean_line, clean_text, escape_html, escape_markdown
from harness.gate.outcome import IMPROVED, WEIGHT, CaseVerdict, GateOutcome
from harness.gate.report import wording
from harness.gate.report.case_names import name_of
from harness.gate.report.table import print_gate
from harness.gate.report.wording import LEVELS, PRESENTATIONS

SHOWN = 10
WIDTH = 120  # of the summary, in characters


def annotations(outcome: GateOutcome, root: str = "") -> list[str]:
    """Workflow commands to print. `root` is the checkout; files are named from there."""
    if outcome.broken:
        return [_command("error", outcome.broken, title="gate: a side does not load")]
    levels = {verdict: shown.level for verdict, shown in PRESENTATIONS.items()}
    if outcome.self_check:
        levels[IMPROVED] = "error"  # between equal sides it is as wrong as regressed
    cases = sorted(outcome.cases, key=lambda case: WEIGHT.index(case.verdict))
    lines: list[str] = []
    for level in LEVELS:
        own = [case for case in cases if levels[case.verdict] == level]
        count = len(own) if len(own) <= SHOWN else SHOWN - 1
        lines += [_annotation(level, case, root) for case in own[:count]]
        if rest := own[count:]:
            more = f"and {len(rest)} more: {wording.counts(rest)}; the job summary lists them"
            lines.append(_command(level, more, title="gate"))
    return lines


def _annotation(level: str, case: CaseVerdict, root: str) -> str:
    measured = wording.measured(case)
    message = f"{case.case} ({measured})" if measured else case.case
    title = f"{wording.in_words(case.verdict)}: {name_of(case.case).short}"
    place = {"file": _relative(case.file, root), "line": str(case.line or "")}
    shown = {name: value for name, value in place.items() if place["file"] and value}
    return _command(level, f"{message}\n{wording.reason_and_notes(case)}", **shown, title=title)


def _relative(file: str | None, root: str) -> str:
    """The file as GitHub names it; one outside of the checkout has no place in the diff."""
    path = Path(file or "")
    if not path.is_absolute():
        return path.as_posix() if file else ""
    return path.relative_to(root).as_posix() if root and path.is_relative_to(root) else ""


def _command(level: str, message: str, **properties: str) -> str:
    shown = ",".join(f"{name}={_property(clean_line(value))}" for name, value in properties.items())
    return f"::{level} {shown}::{_escape(clean_text(message))}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def summary(outcome: GateOutcome) -> str:
    """A Markdown page: the verdict, and below it what a terminal shows."""
    title = "a side does not load" if outcome.broken else wording.conclusion(outcome)
    page = StringIO()
    print_gate(Console(file=page, width=WIDTH, highlight=False), outcome)
    return f"### Gate: {escape_markdown(title)}\n\n<pre>\n{escape_html(page.getvalue())}</pre>\n"
