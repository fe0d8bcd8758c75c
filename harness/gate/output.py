"""Output of a gate: a terminal or JSON on stdout, GitHub's annotations and summary, a JUnit file."""

import os
import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element, SubElement, tostring

from rich.console import Console

from harness.core.errors import UsageError
from harness.core.shown_text import clean_line, clean_text, escape_html, escape_markdown
from harness.core.units import format_seconds
from harness.gate.options import GateOptions
from harness.gate.outcome import IMPROVED, NOT_ENOUGH, REGRESSED, WARN, WEIGHT, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan, single_match
from harness.gate.report import wording
from harness.gate.report.table import gate_data, print_explanation, print_gate
from harness.gate.report.wording import ERROR, FAILURE, LEVELS, PRESENTATIONS, SKIPPED, name_of
from harness.gate.timed.decision import CaseEvidence
from harness.store.atomic import write_files

SHOWN = 10
WIDTH = 120  # of the summary, in characters
BROKEN = "the base or the working tree does not load"


def annotations(outcome: GateOutcome, root: str = "") -> list[str]:
    """GitHub workflow commands for an outcome. `root` is the checkout; file paths are relative to it."""
    if outcome.broken:
        return [_command("error", outcome.broken, title=f"gate: {BROKEN}")]
    levels = {verdict: shown.level for verdict, shown in PRESENTATIONS.items()}
    if outcome.self_check:
        levels[IMPROVED] = "error"  # with the same code on both sides, both are errors
    cases = sorted(outcome.cases, key=lambda case: WEIGHT.index(case.verdict))
    lines: list[str] = []
    for level in LEVELS:
        own = [case for case in cases if levels[case.verdict] == level]
        count = len(own) if len(own) <= SHOWN else SHOWN - 1
        lines += [_annotation(level, case, root) for case in own[:count]]
        if rest := own[count:]:
            more = f"{len(rest)} more cases: {wording.counts(rest)}; see the job summary"
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
    """The file's path relative to the checkout; empty for a file outside it, which GitHub cannot show."""
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
    """Markdown job summary: the verdict, then the terminal output."""
    title = BROKEN if outcome.broken else wording.conclusion(outcome)
    page = StringIO()
    print_gate(Console(file=page, width=WIDTH, highlight=False), outcome)
    return f"### Gate: {escape_markdown(title)}\n\n<pre>\n{escape_html(page.getvalue())}</pre>\n"


def junit(outcome: GateOutcome) -> bytes:
    """JUnit XML: a test per case, with its family as the class and the wall time of the whole gate.

    A slower or vanished case is a failure, and a case that could not be compared is an error. Cases that were
    not compared are skipped: no test passes without a measurement.
    """
    suite = Element("testsuite", {"name": "seqsweep gate", "time": f"{outcome.wall_s:.3f}"})
    for case in outcome.cases:
        result = PRESENTATIONS[case.verdict].result
        if outcome.self_check and case.verdict in {REGRESSED, IMPROVED}:
            result = ERROR
        if case.verdict == NOT_ENOUGH and outcome.inconclusive == WARN:
            result = SKIPPED
        message = " ".join(filter(None, [wording.in_words(case.verdict), wording.measured(case)]))
        test = _add_test(suite, case.case, result, message, wording.reason_and_notes(case))
        place = {"file": case.file, "line": case.line}
        test.attrib.update({name: str(value) for name, value in place.items() if value})
    for case, reason in outcome.left_out.items():
        _add_test(suite, case, SKIPPED, "left out", reason)
    if outcome.broken:
        _add_test(suite, "gate/sides", ERROR, BROKEN, outcome.broken)
    for name, tag in (("failures", FAILURE), ("errors", ERROR), ("skipped", SKIPPED)):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
    for element in suite.iter():  # XML cannot contain most control characters, even escaped
        element.text = clean_text(element.text or "") or None
        element.attrib.update({name: clean_line(value) for name, value in element.attrib.items()})
    return tostring(suite, encoding="utf-8", xml_declaration=True)


def _add_test(suite: Element, name: str, result: str | None, message: str, text: str) -> Element:
    """Add a test. `result` is None for one that passed; its figures are written to `system-out`."""
    test = SubElement(suite, "testcase", {"classname": name_of(name).family, "name": name})
    if result is None:
        SubElement(test, "system-out").text = f"{message}\n{text}"
    else:
        shown = message if result != SKIPPED else f"{message}: {text}"
        SubElement(test, result, message=shown).text = text
    return test


Explanation: TypeAlias = tuple[CaseVerdict, CaseEvidence]


def report_outcome(
    outcome: GateOutcome,
    console: Console,
    *,
    json: bool,
    junit_file: Path | None = None,
    explanation: Explanation | None = None,
) -> dict[str, Any] | None:
    """Print the outcome and write its files; with `json`, return the data instead of printing."""
    if junit_file is not None:
        write_files(junit_file.absolute().parent, {junit_file.name: junit(outcome)})
    _report_to_github(outcome)
    if json:
        data = gate_data(outcome)
        if explanation:
            case, evidence = explanation
            data["explanation"] = {"case": case.case, "verdict": case, **vars(evidence)}
        return data
    print_gate(console, outcome)
    if explanation:
        console.print()
        print_explanation(console, *explanation)
    return None


def refuse_file(path: Path, flag: str) -> None:
    """Raise UsageError if `path` cannot be written. Called before work that may take minutes."""
    parent = next(place for place in path.absolute().parents if place.exists())
    if path.is_dir() or not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UsageError(f"{flag} {path}: cannot be written; name a file in a folder that you can write to")


def _report_to_github(outcome: GateOutcome) -> None:
    """Write annotations to stderr and the job summary to its file, if the command runs on GitHub Actions.

    stdout has only the command's output.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(outcome, os.environ.get("GITHUB_WORKSPACE", "")):
            print(line, file=sys.stderr)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(summary(outcome))
        except OSError as error:  # the verdict does not need its summary
            print(f"seqsweep: GITHUB_STEP_SUMMARY {page}: not written ({error.strerror})", file=sys.stderr)


def explanation_of(outcome: GateOutcome, evidence: Mapping[str, CaseEvidence], pattern: str) -> Explanation:
    """The case that matches a pattern, and its evidence. UsageError if not exactly one case matches."""
    verdicts = {case.case: case for case in outcome.cases}
    case = single_match(pattern, verdicts)
    if case not in evidence:
        raise UsageError(f"--explain: {case} was not timed ({verdicts[case].reason})")
    return verdicts[case], evidence[case]


def plan_data(plan: GatePlan, options: GateOptions) -> dict[str, Any]:
    """The plan for --json; `seconds_at_most` is None with --static."""
    return {
        "base": plan.base,
        "measured": sorted(case.id for case in plan.counterparts if case.id not in plan.new),
        "same_code": sorted(case.id for case in plan.same_code),
        "new": dict(plan.new),
        "vanished": list(plan.vanished),
        "left_out": dict(plan.left_out),
        "settings": {suite.name: suite.settings for suite in plan.schedule.suites},
        "deltas": {} if options.static else plan.deltas,
        "seconds_at_most": None if options.static else options.budget_s,
        "pairs_at_most": None if options.static else options.max_pairs,
    }


def plan_lines(data: dict[str, Any]) -> list[str]:
    """The plan as lines of text: a heading for each kind of case, then its ids."""
    kinds = {
        "measured": "measured" if data["seconds_at_most"] else "compiled and verified on both sides",
        "same_code": "same code on both sides, not measured (--all measures them)",
        "new": "new, not compared",
        "vanished": "vanished (only the base has them)",
        "left_out": "left out",
    }
    lines = [f"working tree against {data['base']}"]
    for key, heading in kinds.items():
        if data[key]:
            lines += ["", f"{heading}: {len(data[key])}", *(f"  {case}" for case in data[key])]
    lines.append("")
    lines += [f"{suite}: Δ {100 * delta:g} %" for suite, delta in data["deltas"].items()]
    seconds, pairs = data["seconds_at_most"], data["pairs_at_most"]
    if not data["measured"]:
        end = "no case would be measured"
    elif seconds:
        end = f"at most {format_seconds(seconds, 2)} (--budget) and {pairs} pairs of processes (--max-pairs)"
    else:
        end = "no timing: both sides are compiled once"
    return [*lines, end]
