"""One sitting of a group: its members, the processes behind them, and asking them."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from harness.core.errors import MachineError, Unsupported
from harness.core.protocol import Job
from harness.core.record import Record
from harness.run.case_state import CaseState
from harness.run.processes.executor import Ended, Worker
from harness.run.records import record_of
from harness.run.run_context import RunContext
from harness.sweep.schedule import Group


class GroupContext:
    """What the stages of a group share. Its folder holds the group's arrays, and ends with it.

    `members` are its cases, unless others are given: in a gate they are those of both sides.
    """

    def __init__(
        self, group: Group, context: RunContext, replicate: int = 0, members: Sequence[CaseState] = ()
    ) -> None:
        self.group, self.context, self.replicate = group, context, replicate
        self.settings = group.settings
        self.folder = context.folder / f"group-{zlib.crc32(group.key.encode()):08x}-{replicate}"
        self.members = list(members) or [
            CaseState(
                case=case,
                info=context.catalog.implementation(case.implementation),
                baseline=case.id in group.baselines.get(case.id, ()),
                started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            )
            for case in group.cases
        ]

    def living(self) -> list[CaseState]:
        """The members that are not decided yet."""
        return [member for member in self.members if member.living]

    def spawn(self, role: str, framework: str, member: CaseState) -> Worker:
        """A process for a member, or for the desk that judges it; it is free to die."""
        case = member.case
        family = self.context.catalog.family(case.family)
        job = Job(
            role=role,
            framework=framework,
            implementation=case.implementation,
            module=member.info.module if role == "case" else family.module,
            options=dict(case.options),
            workload=dict(case.workload),
            mode=case.mode,
            device=case.device,
            group=self.group.key,
            folder=str(self.folder),
            seed=self.settings.seed,
            threads=self.settings.threads,
            memory_bytes=self.settings.memory_bytes,
            side=member.side,
            within=member.within if role == "case" else None,
        )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(
                f"{self.folder}: cannot be made ({error.strerror}); free space there, or set TMPDIR"
            ) from None
        return self.context.executor.spawn(job, self.settings.memory_bytes)

    @contextmanager
    def spending(self, activity: str) -> Generator[None]:
        """Count the time of a block as `activity`."""
        start = self.context.clock()
        try:
            yield
        finally:
            self.context.spent[activity] += self.context.clock() - start

    @contextmanager
    def _undisturbed(self) -> Generator[None]:
        """Nothing is drawn while a clock may be read."""
        self.context.listener.pause()
        try:
            yield
        finally:
            self.context.listener.resume()

    def ask(self, member: CaseState, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any] | None:
        """Ask a member; None when that decided it. The time counts as `activity`."""
        if member.worker is None:
            return None
        start = self.context.clock()
        try:
            with self.spending(activity), self._undisturbed():
                return member.worker.ask(verb, self.settings.timeout_s, **arguments)
        except Unsupported as refusal:
            self.settle(member, "unsupported", str(refusal))
        except Ended as end:
            self.settle(member, end.status, end.reason)
            if end.status in {"oom", "timeout"} and member.side != "base":  # whose failures foretell nothing
                self.context.prediction.stop(member.case, end.status, compiling=verb == "prepare")
        finally:
            member.wall_s += self.context.clock() - start
        return None

    def settle(self, member: CaseState, status: str, reason: str | None = None) -> None:
        """Decide a member, if nothing has yet; its process ends."""
        member.settle(status, reason)
        self.context.listener.case_state(member.id, status)

    def records(self) -> list[Record]:
        device = self.group.cases[0].device
        stamp = replace(self.context.stamp, seed=self.settings.seed)
        target = "host" if device == "cpu" else device
        return [record_of(member, stamp, target, self.replicate) for member in self.members]

    def close(self) -> None:
        for member in self.members:
            member.end()
        shutil.rmtree(self.folder, ignore_errors=True)
