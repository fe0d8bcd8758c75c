"""The message of a failed test: per case its status, contract, checks and figures, and how to repeat it."""

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from harness.core.record import Checked, Record
from harness.core.shown_text import clean_line
from harness.report.format import figures

COMPARED = {"whole": "the whole result compared", "rows": "sampled rows compared"}


def failures(record: Record, named: Collection[str] = ()) -> list[str]:
    """Why a case does not pass, in sentences; none where it does. A check that was `named` has to run.

    A case that is incorrect as its implementation declares passes; one that nothing was judged of does not.
    """
    sentences: list[str] = []
    if record.status not in {"ok", "incorrect"} or (record.status == "incorrect" and not record.expected):
        sentences.append(f"{record.status}: {record.reason}")
    elif record.correctness is None:
        sentences.append("nothing was judged")
    elif record.expected and record.correctness.passed:
        sentences.append("declared to be incorrect here, but it is right")
    sentences += [_describe_check(checked) for checked in record.checks if checked.unexpected]
    ran = {checked.check for checked in record.checks}
    if record.status == "ok":
        sentences += [f"check {name} does not concern this case" for name in sorted({*named} - ran)]
    return sentences


def describe_failures(
    records: Sequence[Record], named: Collection[str], command: Sequence[str], folder: Path
) -> str:
    """The message of a failed test; empty where every case passes. `folder` is that of the run."""
    failed = [(record, sentences) for record in records if (sentences := failures(record, named))]
    if not failed:
        return ""
    lines = [f"{len(failed)} of {len(records)} cases failed"]
    for record, sentences in failed:
        lines += ["", record.case, *(f"  {sentence}" for sentence in sentences)]
        if record.correctness is not None:
            verdict = record.correctness
            what = f"  contract {verdict.contract}, {COMPARED[verdict.coverage]}"
            lines.append(f"{what}: {figures(verdict.figures)}")
        if record.crash_file:
            lines.append(f"  what it printed: {folder / record.crash_file}")
    lines += ["", f"again: {shlex.join(command)}", f"records: {folder}"]
    return "\n".join(f"{line[: len(line) - len(line.lstrip())]}{clean_line(line)}" for line in lines)


def _describe_check(checked: Checked) -> str:
    what = checked.reason or figures(checked.figures)
    return f"check {checked.check}: {what} (it answers: {checked.objection})"
