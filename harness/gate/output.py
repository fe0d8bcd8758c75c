"""Output of a gate: the terminal or JSON on stdout, GitHub where it runs there, JUnit."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.core.errors import MachineError, UsageError, nearest
from harness.gate.outcome import CaseVerdict, GateOutcome
from harness.gate.plan import one_of
from harness.gate.report import annotations, gate_data, junit, print_explanation, print_gate, summary
from harness.gate.report.evidence import CaseEvidence


def tell(
    outcome: GateOutcome,
    console: Console,
    *,
    json: bool,
    junit_file: Path | None = None,
    explanation: CaseEvidence | None = None,
) -> dict[str, Any] | None:
    """Print and write the outcome; with `json` the data is returned instead of printed."""
    if junit_file is not None:
        _write_junit(junit_file.absolute(), outcome)
    _tell_github(outcome)
    if json:
        data = gate_data(outcome)
        return {**data, "explanation": vars(explanation)} if explanation else data
    print_gate(console, outcome)
    if explanation:
        console.print()
        print_explanation(console, explanation)
    return None


def _write_junit(path: Path, outcome: GateOutcome) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(junit(outcome))
    except OSError as error:
        raise MachineError(
            f"--junit {path}: cannot be written ({error.strerror}); name another file"
        ) from None


def _tell_github(outcome: GateOutcome) -> None:
    """Annotations and the job's summary, where GitHub asks for them; stdout stays the command's own."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(outcome, os.environ.get("GITHUB_WORKSPACE", "")):
            print(line, file=sys.stderr)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(summary(outcome))
        except OSError as error:  # the verdict does not hang on its summary
            print(f"seqsweep: GITHUB_STEP_SUMMARY {page}: not written ({error.strerror})", file=sys.stderr)


def explanation_of(outcome: GateOutcome, kept: Mapping[str, Any], pattern: str) -> CaseEvidence:
    """The evidence on one case. UsageError when the pattern means none, or several."""
    verdicts = {case.case: case for case in outcome.cases}
    case = one_of(pattern, verdicts)
    if case not in kept:
        known = nearest(case, kept) if kept else ""
        raise UsageError(f"--explain: nothing was timed of {case} ({verdicts[case].reason}){known}")
    return _evidence(verdicts[case], verdicts, kept)


def _evidence(own: CaseVerdict, verdicts: Mapping[str, CaseVerdict], kept: Mapping[str, Any]) -> CaseEvidence:
    mine = kept[own.case]
    neighbours = [
        (int(other["seq"]), verdicts[case].verdict, verdicts[case].effect)
        for case, other in kept.items()
        if other["series"] == mine["series"] and case != own.case and case in verdicts
    ]
    return CaseEvidence(
        case=own.case,
        verdict=own,
        slowdown=mine["slowdown"],
        first=tuple(mine["first"]),
        fresh=tuple(mine["fresh"]),
        rounds=tuple(tuple(rounds) for rounds in mine["rounds"]),
        levels_s=tuple((candidate, base) for candidate, base in mine["levels_s"]),
        static=tuple(mine["static"]),
        same_program=mine["same_program"],
        neighbours=tuple(sorted(neighbours)),
    )
