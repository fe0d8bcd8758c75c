"""Cases of one's own callable in a test: `check` holds it to its family, `measure` also times it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from harness.core.errors import SeqsweepError, UsageError
from harness.core.record import Record
from harness.core.version import VERSION
from harness.core.workload import Value
from harness.report.console import TextConsole
from harness.report.progress import Progress
from harness.run.session import Done, Request, conduct
from harness.testing.failure import describe_failures, failures
from harness.testing.question import Target, Values, check_ids, command_of, find_target, plan_cases


def check(
    target: Target,
    family: str | None = None,
    *,
    seq: Values,
    checks: bool | str | Sequence[str] = True,
    mode: str | Sequence[str] = "fwd",
    device: str | Sequence[str] = "cpu",
    options: Mapping[str, Value] | None = None,
    framework: str | None = None,
    semantics: str | None = None,
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    **keywords: Any,
) -> list[Record]:
    """Hold a callable to its family's contract and checks, in processes of their own, without a clock.

    `target` is a builder under `@implementation`; or the name of a registered one, those of `plugins`
    included; or a plain callable that takes the family's inputs by name, with `family`, `framework` (jax,
    torch or numpy) and `semantics` (none: the family's first). A callable stands at the top level of a file.

    `seq` is a length in elements, or several; `keywords` are the family's other fields, each one value or
    several, and settings as in bench.yaml: `seed`, `timeout="60s"`, `memory="4GiB"`, `threads`. What is left
    out has the family's default; no bench.yaml is read. `options` are the builder's. `checks` are all of the
    family's (True), none, or those named.

    Returns a record per case. AssertionError names every case that is not as its family says, was not judged
    (out of memory, a crash, a refusal), or fails a check. UsageError for what does not exist, MachineError
    where the machine refuses. Runs are stored below `results`; without it in a temporary folder, which stays
    after a failure alone.
    """
    __tracebackhide__ = True
    grid = {"seq": seq, **keywords}
    try:
        with ExitStack() as stack:
            home = _folder(results, stack)
            asked = find_target(home / "plugins", target, family, framework, semantics, plugins)
            schedule = plan_cases(asked, options or {}, mode, device, grid)
            named = check_ids(asked, checks)
            command = command_of("check", asked, schedule, grid, named or ())
            done = _conduct(Request(schedule, asked.catalog, home, command, "check", VERSION, checks=named))
            message = describe_failures(done.outcome.records, named or (), command, done.folder.path)
            if message:
                stack.pop_all()
    except SeqsweepError as error:
        raise type(error)(str(error)) from None  # the test's line is its place, not one of this program's
    if message:
        raise AssertionError(message)
    return list(done.outcome.records)


def measure(
    target: Target,
    family: str | None = None,
    *,
    seq: int | str,
    mode: str = "fwd",
    device: str = "cpu",
    options: Mapping[str, Value] | None = None,
    framework: str | None = None,
    semantics: str | None = None,
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    **keywords: Any,
) -> Record:
    """Measure one case as `seqsweep run` does, and return its record, whatever became of it.

    Arguments are those of :func:`check`, each with one value; settings are also `budget="500ms"` (of
    sampling; 4 s) and `precision="5%"`. `record.timing` has seconds per call (`median_s`, and the 95 % bounds
    `low_s` and `high_s` over rounds), and is None unless the contract was passed; `record.status` and
    `record.reason` say why. `record.static["host"]` has what the compiler plans, in bytes and operations.
    Who measures waits until nobody else does on this device. Errors are those of `check`, but for its
    AssertionError.
    """
    __tracebackhide__ = True
    grid = {"seq": seq, **keywords}
    try:
        with ExitStack() as stack:
            home = _folder(results, stack)
            asked = find_target(home / "plugins", target, family, framework, semantics, plugins)
            schedule = plan_cases(asked, options or {}, mode, device, grid)
            if len(schedule.suites[0].cases) != 1:
                raise UsageError(f"{asked.implementation}: measure takes one case; give each field one value")
            command = command_of("run", asked, schedule, grid)
            done = _conduct(Request(schedule, asked.catalog, home, command, "run", VERSION, wait=True))
            (record,) = done.outcome.records
            if failures(record):
                stack.pop_all()
    except SeqsweepError as error:
        raise type(error)(str(error)) from None  # as in check
    return record


def _folder(results: str | Path | None, stack: ExitStack) -> Path:
    """The folder of a test's runs; a temporary one goes with the stack."""
    if results is not None:
        return Path(results).absolute()
    folder = Path(tempfile.mkdtemp(prefix="seqsweep-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _conduct(request: Request) -> Done:
    """Run to the end, with progress on standard error, which pytest shows where a test fails."""
    with closing(Progress(len(request.schedule.groups), TextConsole(stderr=True))) as progress:
        done = conduct(request, progress)
    if done.outcome.interrupted:
        raise KeyboardInterrupt
    return done
