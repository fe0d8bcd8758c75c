"""Output of a gate: a terminal or JSON on stdout, GitHub's annotations and summary, a JUnit file."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console

from harness.core.errors import MachineError, UsageError, nearest
from harness.gate.case_evidence import CaseEvidence
from harness.gate.outcome import CaseVerdict, GateOutcome
from harness.gate.planning import single_match
from harness.gate.report.explain import print_explanation
from harness.gate.report.github import annotations, summary
from harness.gate.report.junit import junit
from harness.gate.report.table import gate_data, print_gate

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
        _write_junit(junit_file.absolute(), outcome)
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
    """UsageError where no file can be written at `path`, before what it is for, which may take minutes."""
    parent = next(place for place in path.absolute().parents if place.exists())
    if path.is_dir() or not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UsageError(f"{flag} {path}: cannot be written; name a file in a folder of yours")


def _write_junit(path: Path, outcome: GateOutcome) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(junit(outcome))
    except OSError as error:
        raise MachineError(
            f"--junit {path}: cannot be written ({error.strerror}); name another file"
        ) from None


def _report_to_github(outcome: GateOutcome) -> None:
    """Write annotations to stderr and the job's summary to its file, where the command runs on GitHub.

    stdout stays the command's own.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(outcome, os.environ.get("GITHUB_WORKSPACE", "")):
            print(line, file=sys.stderr)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(summary(outcome))
        except OSError as error:  # the verdict stands without its summary
            print(f"seqsweep: GITHUB_STEP_SUMMARY {page}: not written ({error.strerror})", file=sys.stderr)


def explanation_of(outcome: GateOutcome, evidence: Mapping[str, CaseEvidence], pattern: str) -> Explanation:
    """The case that a pattern matches, and its evidence. UsageError where it matches none, or several."""
    verdicts = {case.case: case for case in outcome.cases}
    case = single_match(pattern, verdicts)
    if case not in evidence:
        suggestion = nearest(case, evidence) if evidence else ""
        raise UsageError(f"--explain: nothing was timed of {case} ({verdicts[case].reason}){suggestion}")
    return verdicts[case], evidence[case]
