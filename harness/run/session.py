"""From a schedule to a stored run: lock, folder, processes, and what a later `--resume` needs."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.catalog.catalog import Catalog
from harness.run.events import Listener
from harness.run.group import Context
from harness.run.lock import device_lock
from harness.run.member import Stamp
from harness.run.probe import Probe
from harness.run.processes import Processes
from harness.run.runner import Outcome, lacks, run
from harness.spec.errors import UsageError
from harness.spec.record import Record
from harness.store.find import all_runs
from harness.store.runs import RunFolder, new_run_id
from harness.sweep.schedule import Group, Schedule, suite_info


@dataclass(frozen=True)
class Request:
    """What a command asks for. `depth` is `static`, `check` or `run`."""

    schedule: Schedule
    catalog: Catalog
    results: Path
    command: Sequence[str]
    depth: str
    version: str
    resume: bool = False


@dataclass(frozen=True)
class Done:
    folder: RunFolder
    outcome: Outcome


def conduct(request: Request, listener: Listener) -> Done:
    """Run a schedule to its end, or to Ctrl-C, with everything measured on disk."""
    schedule = request.schedule
    settings = schedule.suites[0].settings
    devices = sorted({case.device for suite in schedule.suites for case in suite.cases})
    device = next((name for name in devices if name != "cpu"), "cpu")
    with ExitStack() as stack:
        if request.depth == "run":
            for name in devices:
                stack.enter_context(device_lock(name, " ".join(request.command)))
        executor = Processes(_frameworks(request), device)
        stack.callback(executor.close)
        stack.enter_context(_terminable())
        facts = Probe(device, settings.threads).wait()

        def fingerprint_of(group: Group) -> dict[str, Any]:
            return {**facts["fingerprint"], "threads": group.settings.threads}

        folder, done = _folder(request, fingerprint_of, listener)
        stamp = Stamp(
            run=folder.id,
            fingerprint=folder.write_fingerprint(facts["fingerprint"]),
            environment=folder.write_environment(facts["environment"]),
            seed=settings.seed,
        )
        context = Context(executor, request.catalog, stamp, listener, executor.folder, depth=request.depth)
        outcome = run(
            schedule,
            context,
            folder,
            done=done,
            fingerprint=lambda group: folder.write_fingerprint(fingerprint_of(group)),
            known_s=known_seconds(request.results),
        )
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        folder.update_info(
            finished=None if outcome.interrupted else finished, overhead=dict(outcome.overhead)
        )
    return Done(folder, outcome)


def known_seconds(results: Path) -> dict[str, float]:
    """Wall seconds per case of the newest stored runs, the newest counting."""
    known: dict[str, float] = {}
    for folder in all_runs(results)[-3:]:
        for record in folder.read().records:
            if record.wall_s > 0:
                known[record.case] = record.wall_s
    return known


def _frameworks(request: Request) -> list[str]:
    """The fork servers a schedule needs, its references' included."""
    needed = {info.framework for info in request.schedule.implementations.values()}
    if request.depth != "static":
        needed |= {request.catalog.family(suite.family).desk for suite in request.schedule.suites}
    return sorted(needed)


def _folder(
    request: Request, fingerprint_of: Callable[[Group], dict[str, Any]], listener: Listener
) -> tuple[RunFolder, Sequence[Record]]:
    """A new run's folder, or the newest one's when it can be continued."""
    if request.resume:
        return _resumed(request, fingerprint_of, listener)
    now = datetime.now(UTC)
    schedule = request.schedule
    run_id = new_run_id(now, f"{os.getpid()} {' '.join(request.command)}")
    info = {
        "schema": 1,
        "run": run_id,
        "command": list(request.command),
        "depth": request.depth,
        "started": now.isoformat(timespec="seconds"),
        "finished": None,
        "version": request.version,
        "settings": asdict(schedule.suites[0].settings),
        "sources": {name: info.hash for name, info in schedule.implementations.items()},
        "replicates": schedule.replicates,
        "suites": suite_info(schedule),
        "overhead": None,
    }
    return RunFolder.create(request.results, run_id, info), ()


def _resumed(
    request: Request, fingerprint_of: Callable[[Group], dict[str, Any]], listener: Listener
) -> tuple[RunFolder, Sequence[Record]]:
    wanted = suite_info(request.schedule)
    refusals: list[str] = []
    for folder in reversed(all_runs(request.results)):
        info = folder.info
        if info.get("depth") != request.depth or set(info.get("suites", ())) != set(wanted):
            continue
        for problem in folder.repair():
            listener.message(problem)
        done = folder.read().records
        expected = {folder.write_fingerprint(fingerprint_of(g)) for g in request.schedule.groups}
        difference = _differs(info, request, wanted) or lacks(
            done, request.schedule, request.catalog, expected
        )
        if difference is None:
            listener.message(f"continuing run {folder.id}: {len(done)} cases are there")
            return folder, done
        refusals.append(f"run {folder.id} cannot be continued: {difference}")
        break
    why = refusals[0] if refusals else f"no run of {', '.join(wanted)} is stored in {request.results}"
    raise UsageError(f"--resume: {why}; start a new one without --resume")


def _differs(info: dict[str, Any], request: Request, wanted: dict[str, Any]) -> str | None:
    for name, suite in wanted.items():
        before = info["suites"][name]
        changed = [key for key in suite if before.get(key) != suite[key]]
        if changed:
            return f"suite {name} differs in {', '.join(changed)}"
    if info.get("replicates") != request.schedule.replicates:
        return f"it was started with --replicates {info.get('replicates')}"
    return None


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """A polite kill ends a run as Ctrl-C does: with everything measured kept."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
