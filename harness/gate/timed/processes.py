"""Processes of a pair: a new interpreter per side, which runs all cases of its side."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.core.case import Case
from harness.core.errors import MachineError, SideError, Unsupported
from harness.core.protocol import Job
from harness.gate.sides.side import Side
from harness.run.processes.executor import Ended, Worker
from harness.run.processes.fork_client import Server
from harness.run.processes.output_log import Log
from harness.run.processes.worker_process import Process, Processes
from harness.sweep.settings import Settings

HOLD_SECONDS = 60.0  # timeout of adding or dropping a case
# Keep freed memory in the process. By default glibc may return the top of its heap, depending on what is
# above it. Then every call faults in new pages or none, and a process has one of two speeds.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
PADDING = "SEQSWEEP_PADDING"  # its length shifts a new process's stack, to vary memory layouts


class SideProcess:
    """A side's process for one pair: a new interpreter, which forks the worker at the first request.

    `fork` starts the worker and `stop` ends the interpreter. `dead`: it has ended without a reply.
    """

    def __init__(self, side: Side, fork: Callable[[], Worker], stop: Callable[[], None]) -> None:
        self.side, self.dead = side, False
        self._fork, self._stop = fork, stop
        self._worker: Worker | None = None

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        """Like :meth:`Worker.ask`. SideError if the interpreter did not start."""
        worker = self._worker = self._worker or self._start()
        try:
            return worker.ask(verb, seconds, **arguments)
        except Ended as end:
            self.dead = self.dead or not end.alive
            raise

    def _start(self) -> Worker:
        try:
            return self._fork()
        except (MachineError, Unsupported, Ended, OSError) as error:
            text = f"the {self.side.name} ({self.side.description}) does not load: {error}"
            raise SideError(text) from None

    def kill(self) -> None:
        """Kill the worker; may be called while another thread waits for its reply."""
        if self._worker is not None:
            self._worker.kill()

    def close(self) -> None:
        self.dead = True
        if self._worker is not None:
            self._worker.close()
        self._stop()


class SideCase:
    """Worker handle for one of the cases in a side's process."""

    def __init__(self, process: SideProcess, key: str, job: Job, seconds: float) -> None:
        self.process, self.key, self.seconds = process, key, seconds
        process.ask("hold", seconds, case=key, job=job.to_json())

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        return self.process.ask("turn", seconds, case=self.key, asks=verb, **arguments)

    def count_cores(self) -> None:
        return None  # after `release` a side's process may use all cores

    def kill(self) -> None:
        """Kill the process, with all its cases."""
        self.process.kill()

    def close(self) -> None:
        """Drop the case. The process continues, because it has other cases."""
        if not self.process.dead:
            with suppress(Ended):  # the next request will find the process dead
                self.process.ask("drop", self.seconds, case=self.key)


class GateExecutor:
    """Executor of a gate: one process per side for all cases, and a separate process per reference."""

    def __init__(self, references: Processes, device: str = "cpu") -> None:
        self.references, self.device = references, device
        self.processes: Mapping[str, SideProcess] = {}
        self.cases = self.opened = 0

    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        if job.role == "reference":
            return self.references.spawn(job, limit_bytes)
        self.cases += 1
        return SideCase(self.processes[job.side or ""], str(self.cases), job, HOLD_SECONDS)

    def open(
        self, side: Side, frameworks: Sequence[str], settings: Settings, padding: int, *, tracing: bool
    ) -> SideProcess:
        """Start a side's interpreter without waiting for it. SideError if it cannot be started."""
        self.opened += 1
        monitor = self.references.monitor
        monitor.limit_bytes = settings.memory_bytes
        folder = self.references.folder / f"{side.name}-{self.opened}"  # the process removes it at its end
        try:
            folder.mkdir()
            server = Server(
                frameworks,
                folder,
                self.device,
                interpreter=side.interpreter,
                path=side.path,
                environment={**MALLOC, PADDING: "." * padding},
                tracing=tracing,
            )
        except OSError as error:
            raise SideError(
                f"the {side.name} ({side.description}) does not start: {error.strerror}"
            ) from None
        log = Log(folder / "worker.log")
        job = _job(side, folder, frameworks, settings)
        return SideProcess(side, lambda: Process(server, job, monitor, log), server.close)

    def close(self) -> None:
        self.references.close()


def _job(side: Side, folder: Path, frameworks: Sequence[str], settings: Settings) -> Job:
    """Job of the whole process; each of its cases has another job."""
    return Job(
        role="side",
        framework=",".join(frameworks),
        module="",
        case=Case.of("", {}, {}),
        group="",
        folder=str(folder),
        seed=settings.seed,
        threads=settings.threads,
        memory_bytes=settings.memory_bytes,
        side=side.name,
    )
