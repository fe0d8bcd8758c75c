"""A session: takes locks, starts processes, opens the run's folder, and executes a schedule."""

import os
import platform
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.catalog.catalog import Catalog
from harness.core.record import TIMED, Record
from harness.core.scratch_folder import ScratchFolder
from harness.core.stop_signals import terminable
from harness.core.typed_command import typed_command
from harness.core.version import VERSION
from harness.run.case.source_files import SourceFiles
from harness.run.events import Listener
from harness.run.group.run_context import STAGES_ONLY, Checks, ProfileExtras, Provenance, RunContext
from harness.run.machine.device_memory import DeviceMemory
from harness.run.machine.lock import device_lock
from harness.run.machine.probes import probe_fingerprint
from harness.run.processes.worker_process import Processes
from harness.run.runner import RunOutcome, add_overheads, reopen, run, run_to_continue
from harness.store.find import all_runs
from harness.store.runs import RunFolder, new_run_id
from harness.store.stored_run import Stored
from harness.sweep.schedule import Schedule, suite_info

__all__ = ["STAGES_ONLY", "Done", "Request", "execute", "open_run", "run_and_delete"]


@dataclass(frozen=True)
class Request:
    """The run of a schedule that a command requests; `checks` as in RunContext.

    `depth` is `static`, `check`, `run` or `profile`. With `resume` the newest run of the same suites is
    continued. With `wait` the command waits for devices that another command uses.
    """

    schedule: Schedule
    catalog: Catalog
    results: Path
    command: Sequence[str]
    depth: str
    resume: bool = False
    checks: Checks = ()
    wait: bool = False
    extras: ProfileExtras = STAGES_ONLY


@dataclass(frozen=True)
class Done:
    """A finished or interrupted run. Its records are read from its folder on demand."""

    folder: RunFolder
    interrupted: bool

    @cached_property
    def stored(self) -> Stored:
        return self.folder.read()

    @property
    def records(self) -> tuple[Record, ...]:
        return self.stored.records


@contextmanager
def open_run(
    request: Request, listener: Listener, fingerprints: Sequence[Mapping[str, Any]] = ()
) -> Generator[RunFolder]:
    """The folder of a new run, or of the run to continue, locked for writing by this process.

    `fingerprints` are this machine's, one for each device and number of threads in the schedule.
    """
    folder = (
        run_to_continue(request.results, _run_info(request), fingerprints)
        if request.resume
        else new_folder(request)
    )
    with folder.writing(" ".join(request.command), listener.message):
        if request.resume:
            reopen(folder, request.schedule, listener)
        yield folder


def execute(request: Request, listener: Listener) -> Done:
    """Execute a schedule to its end, or to Ctrl-C, and store everything that was measured."""
    schedule = request.schedule
    devices = sorted({case.device for suite in schedule.suites for case in suite.cases})
    device = next((name for name in devices if name != "cpu"), "cpu")
    with ExitStack() as stack:
        if request.depth in TIMED or request.wait:
            report = listener.message if request.wait else None
            for name in devices:
                stack.enter_context(device_lock(name, " ".join(request.command), wait=report))
        writer = stack.enter_context(ExitStack())  # closed after the workers, which could still write
        executor = Processes(_frameworks(request), device)
        stack.callback(executor.close)
        stack.enter_context(terminable())
        settings = schedule.suites[0].settings
        probed = {name: probe_fingerprint(name, settings.threads) for name in devices or [device]}
        threads = {settings.threads, *(group.settings.threads for group in schedule.groups)}
        facts = {
            (on, count): {**found["fingerprint"], "threads": count}
            for on, found in probed.items()
            for count in sorted(threads)
        }
        folder = writer.enter_context(open_run(request, listener, [*facts.values()]))
        provenance = write_provenance(folder, probed[device], settings.seed)
        # Also for devices without a group in this shard.
        fingerprints = {key: folder.write_fingerprint(each) for key, each in facts.items()}
        context = RunContext(
            executor,
            request.catalog,
            provenance,
            listener,
            executor.folder,
            depth=request.depth,
            checks=request.checks,
            keep_crash=folder.write_crash,
            extras=request.extras,
            device_memory={on: DeviceMemory.of(on, found["fingerprint"]) for on, found in probed.items()},
            sources=SourceFiles(request.catalog, schedule.implementations),
        )
        outcome = run(
            schedule,
            context,
            folder,
            done=folder.records([]),
            fingerprints=fingerprints,
        )
        _write_end(folder, outcome)
        return Done(folder, outcome.interrupted)


def run_and_delete(
    schedule: Schedule, catalog: Catalog, listener: Listener, depth: str, **more: Any
) -> tuple[Mapping[str, Any], Sequence[Record], bool]:
    """The fingerprint and records of a run whose folder is deleted, and whether it was interrupted."""
    with ScratchFolder(f"{depth}-") as folder:
        done = execute(Request(schedule, catalog, folder, typed_command(), depth, **more), listener)
        return next(iter(done.folder.fingerprints().values())), done.records, done.interrupted


def _write_end(folder: RunFolder, outcome: RunOutcome) -> None:
    """Write the run's end and its overhead, summed over all resumptions that measured a group."""
    info = folder.info
    before = info.get("overhead") or {}
    overhead = add_overheads(before, outcome.overhead) if outcome.groups or not before else before
    finished = info.get("finished") or datetime.now(UTC).isoformat(timespec="seconds")
    folder.update_info(finished=None if outcome.interrupted else finished, overhead=overhead)


def _frameworks(request: Request) -> list[str]:
    """The frameworks of a schedule's implementations and references."""
    needed = {info.framework for info in request.schedule.implementations.values()}
    return sorted(needed | request.catalog.reference_frameworks(request.schedule.implementations))


def write_provenance(folder: RunFolder, facts: Mapping[str, Any], seed: int) -> Provenance:
    """The fields that all records share; fingerprint and environment are written to the run's folder."""
    fingerprint = folder.write_fingerprint(facts["fingerprint"])
    return Provenance(folder.id, fingerprint, folder.write_environment(facts["environment"]), seed)


def new_folder(request: Request) -> RunFolder:
    now = datetime.now(UTC)
    present = [folder.id for folder in all_runs(request.results)]
    salt = f"{platform.node()} {os.getpid()} {' '.join(request.command)}"
    run_id = new_run_id(now, salt, present)
    info = {**_run_info(request), "run": run_id, "started": now.isoformat(timespec="seconds")}
    return RunFolder.create(request.results, run_id, info)


def _run_info(request: Request) -> dict[str, Any]:
    """The content of run.json without the run's id and start."""
    schedule = request.schedule
    settings = {suite.name: asdict(suite.settings) for suite in schedule.suites}
    suites = suite_info(schedule).items()
    return {
        "schema": 1,
        "run": None,
        "command": list(request.command),
        "depth": request.depth,
        "started": None,
        "finished": None,
        "version": VERSION,
        "settings": asdict(schedule.suites[0].settings),
        "sources": {name: info.hash for name, info in schedule.implementations.items()},
        "replicates": schedule.replicates,
        "suites": {name: {**info, "settings": settings[name]} for name, info in suites},
        "shard": asdict(schedule.shard) if schedule.shard else None,
        "overhead": None,
        **({"extras": request.extras.names} if request.extras.names else {}),
    }
