"""Test functions for your own callable: `check` compares it with its family, `measure` also times it."""

import shlex
import shutil
import tempfile
from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from harness.core.errors import SeqsweepError, UsageError
from harness.core.record import Checked, Record
from harness.core.shown_text import clean_line
from harness.report.console import TextConsole
from harness.report.format import figures
from harness.report.progress import Progress
from harness.run.session import Request, execute
from harness.testing.target import Target, Values, check_ids, command_of, find_target, plan_cases

COMPARED = {"whole": "the whole result compared", "rows": "sampled rows compared"}


def failures(record: Record, named: Collection[str] = ()) -> list[str]:
    """Reasons why a case fails; empty if it passes. Checks in `named` must apply.

    A case that is incorrect passes if its implementation declares that. A case without a checked result
    fails.
    """
    sentences: list[str] = []
    if record.status not in {"ok", "incorrect"} or (record.status == "incorrect" and not record.expected):
        sentences.append(f"{record.status}: {record.reason}")
    elif record.correctness is None:
        sentences.append("the result was not checked")
    elif record.expected and record.correctness.passed:
        sentences.append("marked `expect=…` but passes its contract; remove the marker")
    sentences += [_describe_check(checked) for checked in record.checks if checked.unexpected]
    ran = {checked.check for checked in record.checks}
    if record.status == "ok":
        sentences += [f"check {name} does not apply to this case" for name in sorted({*named} - ran)]
    return sentences


def describe_failures(
    records: Sequence[Record], named: Collection[str], command: Sequence[str], folder: Path
) -> str:
    """The message of a failed test; empty if every case passes. `folder` is the run's folder."""
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
            lines.append(f"  output of the process: {folder / record.crash_file}")
    lines += ["", f"rerun: {shlex.join(command)}", f"records: {folder}"]
    return "\n".join(f"{line[: len(line) - len(line.lstrip())]}{clean_line(line)}" for line in lines)


def _describe_check(checked: Checked) -> str:
    what = checked.reason or figures(checked.figures)
    return f"check {checked.check}: {what} (objection: {checked.objection})"


CALLABLE = ("framework", "semantics", "plugins")  # keywords that describe the target


def check(
    target: Target,
    family: str | None = None,
    *,
    seq: Values,
    checks: bool | str | Sequence[str] = True,
    results: str | Path | None = None,
    **keywords: Any,
) -> list[Record]:
    """Check a callable against its family's contract and checks, in separate processes, without timing.

    `target` is one of: a builder with `@implementation` (with `options={…}`); the name of a registered
    implementation, including those in the files `plugins=[…]`; or a plain callable that takes the family's
    inputs by name, with `family`, `framework=` (jax, torch or numpy) and `semantics=` (default: the family's
    first). A callable must be at the top level of a file.

    `seq` is one or several lengths in elements. Other keywords are keys of a suite in bench.yaml: the
    family's fields, each with one or several values; `mode` ("fwd") and `device` ("cpu"); settings (`seed`,
    `timeout="60s"`, `memory="4GiB"`, `threads`). Omitted keywords have their defaults, because no bench.yaml
    is read. `checks` are all of the family's (True), none (False), or the named ones.

    Returns one record per case. AssertionError lists every case that fails its contract or a check, or was
    not checked (out of memory, crashed, unsupported). UsageError for unknown names, MachineError if the
    machine is unsuitable. Runs are stored in `results`; by default in a temporary folder, which
    is deleted unless a case fails.
    """
    __tracebackhide__ = True
    try:
        records, message = _run("check", target, family, checks, results, {"seq": seq, **keywords})
    except SeqsweepError as error:
        raise type(error)(str(error)) from None  # raised again, to show the test's line
    if message:
        raise AssertionError(message)
    return records


def measure(
    target: Target,
    family: str | None = None,
    *,
    seq: int | str,
    results: str | Path | None = None,
    **keywords: Any,
) -> Record:
    """Measure one case like `seqsweep run`, and return its record with any status.

    Arguments are those of :func:`check`, each with one value. Additional settings are `budget="500ms"` (of
    sampling; default 4 s) and `precision="5%"`. `record.timing` has seconds per call: `median_s`, and the
    95 % bounds `low_s` and `high_s` over rounds. It is None if the contract failed; see `record.status` and
    `record.reason`. `record.static["host"]` has the compiler's plan, in bytes and operations. Waits until no
    other benchmark uses the device. UsageError and MachineError as for `check`.
    """
    __tracebackhide__ = True
    try:
        (record,), _ = _run("run", target, family, False, results, {"seq": seq, **keywords})
    except SeqsweepError as error:
        raise type(error)(str(error)) from None  # as in check
    return record


def _run(
    verb: str,
    target: Target,
    family: str | None,
    checks: bool | str | Sequence[str],
    results: str | Path | None,
    keywords: dict[str, Any],
) -> tuple[list[Record], str]:
    """The records of a test's cases, and the message if it fails."""
    with ExitStack() as stack:
        home = Path(results or tempfile.mkdtemp(prefix="seqsweep-")).absolute()
        if results is None:
            stack.callback(shutil.rmtree, home, ignore_errors=True)
        given = {name: keywords.pop(name) for name in CALLABLE if name in keywords}
        found = find_target(home / "plugins", target, family, **given)
        schedule = plan_cases(found, keywords.pop("options", {}), keywords)
        if verb == "run" and len(schedule.suites[0].cases) != 1:
            raise UsageError(f"{found.implementation}: measure runs a single case; use one value per field")
        check_set = check_ids(found, checks)
        named = check_set or ()
        command = command_of(verb, found, schedule, keywords, named)
        request = Request(schedule, found.catalog, home, command, verb, checks=check_set, wait=verb == "run")
        # Standard error, which pytest shows if a test fails.
        with closing(Progress(len(schedule.groups), TextConsole(stderr=True))) as progress:
            done = execute(request, progress)
            if done.interrupted:
                raise KeyboardInterrupt
            records = list(done.records)
            if any(failures(record, named) for record in records):
                stack.pop_all()
                progress.message(f"records: {done.folder.path}")
        return records, describe_failures(records, named, command, done.folder.path)
