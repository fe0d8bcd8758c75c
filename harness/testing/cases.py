"""Cases of one's own callable in a test: `check` holds it to its family, `measure` also times it."""

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
from harness.run.session import Request, conduct
from harness.testing.target import Target, Values, check_ids, command_of, find_target, plan_cases

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


CALLABLE = ("framework", "semantics", "plugins")  # keywords that say what the target is


def check(
    target: Target,
    family: str | None = None,
    *,
    seq: Values,
    checks: bool | str | Sequence[str] = True,
    results: str | Path | None = None,
    **keywords: Any,
) -> list[Record]:
    """Hold a callable to its family's contract and checks, in processes of their own, without a clock.

    `target` is a builder under `@implementation` (with `options={…}`); or the name of a registered one, those
    of the files `plugins=[…]` included; or a plain callable that takes the family's inputs by name, with
    `family`, `framework=` (jax, torch or numpy) and `semantics=` (none: the family's first). A callable
    stands at the top level of a file.

    `seq` is a length in elements, or several. Other keywords are keys of a suite in bench.yaml: the family's
    fields, each one value or several; `mode` ("fwd") and `device` ("cpu"); settings (`seed`, `timeout="60s"`,
    `memory="4GiB"`, `threads`). What is left out has its default, for no bench.yaml is read. `checks` are all
    of the family's (True), none, or those named.

    Returns a record per case. AssertionError names every case that is not as its family says, was not judged
    (out of memory, a crash, a refusal), or fails a check. UsageError for what does not exist, MachineError
    where the machine refuses. Runs are stored below `results`; without it in a temporary folder, which stays
    after a failure alone.
    """
    __tracebackhide__ = True
    try:
        records, message = _run("check", target, family, checks, results, {"seq": seq, **keywords})
    except SeqsweepError as error:
        raise type(error)(str(error)) from None  # the test's line is its place, not one of this program's
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
    """Measure one case as `seqsweep run` does, and return its record, whatever became of it.

    Arguments are those of :func:`check`, each with one value; settings are also `budget="500ms"` (of
    sampling; 4 s) and `precision="5%"`. `record.timing` has seconds per call (`median_s`, and the 95 % bounds
    `low_s` and `high_s` over rounds), and is None unless the contract was passed; `record.status` and
    `record.reason` say why. `record.static["host"]` has what the compiler plans, in bytes and operations.
    It waits until no other benchmark holds the device. UsageError and MachineError as in `check`.
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
    """The records of the cases that a test asks for, and what it says where it fails."""
    with ExitStack() as stack:
        home = Path(results or tempfile.mkdtemp(prefix="seqsweep-")).absolute()
        if results is None:
            stack.callback(shutil.rmtree, home, ignore_errors=True)
        given = {name: keywords.pop(name) for name in CALLABLE if name in keywords}
        found = find_target(home / "plugins", target, family, **given)
        schedule = plan_cases(found, keywords.pop("options", {}), keywords)
        if verb == "run" and len(schedule.suites[0].cases) != 1:
            raise UsageError(f"{found.implementation}: measure takes one case; give each field one value")
        wanted = check_ids(found, checks)
        named = wanted or ()
        command = command_of(verb, found, schedule, keywords, named)
        request = Request(schedule, found.catalog, home, command, verb, checks=wanted, wait=verb == "run")
        # On standard error, which pytest shows where a test fails.
        with closing(Progress(len(schedule.groups), TextConsole(stderr=True))) as progress:
            done = conduct(request, progress)
            if done.interrupted:
                raise KeyboardInterrupt
            records = list(done.records)
            if any(failures(record, named) for record in records):
                stack.pop_all()
                progress.message(f"records: {done.folder.path}")
        return records, describe_failures(records, named, command, done.folder.path)
