"""The executor outside tests: workers of fork servers, stopped between their turns."""

import copy
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.catalog.known_frameworks import traits_of
from harness.core import process_tree, protocol
from harness.core.errors import MachineError, SideError, Unsupported
from harness.core.protocol import Job, read_reply
from harness.core.scratch_folder import ScratchFolder
from harness.run.processes.executor import Ended
from harness.run.processes.fork_client import Server
from harness.run.processes.memory_monitor import MemoryMonitor, oom_kills
from harness.run.processes.output_log import MORE_MEMORY, Log, crash_output, exit_cause

POLL_SECONDS = 0.05
COMPILE_TURNS = 5  # timeouts that one request may spend compiling, in addition to its own turn
MORE_SPACE = "free space there, or set TMPDIR, and continue with run --resume"
DEATH_SECONDS = 10.0  # for a server to report a worker's exit status, on a busy machine


class Process:
    """A worker in its own process group; see :class:`harness.run.processes.executor.Worker`."""

    def __init__(self, server: Server, job: Job, monitor: MemoryMonitor, log: Log) -> None:
        self.server, self.job, self.monitor, self.log = server, job, monitor, log
        self.open = True
        self.oom_kills = oom_kills()  # on this machine, when the worker's last turn started
        self.end, theirs = protocol.pair()
        with theirs, log.open() as output:
            self.fork = server.fork(job, [theirs.fileno(), output.fileno()])
        self.pid = self.fork.pid
        if job.role != "reference":  # a reference's memory is not the implementation's
            monitor.add(self.pid, job.memory_bytes)

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        if not self.open:
            raise Ended("crashed", "its process has ended")
        if self._was_killed():
            raise self._death()
        self.oom_kills = oom_kills()
        self._signal(signal.SIGCONT)
        try:
            protocol.send(self.end, {"do": verb, **arguments})
            answer = self._wait(verb, seconds)
        except (BrokenPipeError, ConnectionResetError):
            answer = None
        if answer is None:
            raise self._death()
        self._signal(signal.SIGSTOP)
        self.log.cut()
        return self._read(arguments["asks"] if verb == "turn" else verb, answer)

    def _read(self, verb: str, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """The reply in a message; raises as `ask` does if the message is not a reply."""
        try:
            reply = read_reply(verb, message)
        except ValueError as error:
            output = crash_output(self.log)
            # An implementation may have tampered with a process that sends a malformed reply, so it is
            # ended. A reference worker runs no implementation, and serves the whole group.
            if self.job.role != "reference":
                self.close()
            raise Ended("crashed", str(error), alive=self.open, output=output) from None
        if reply.failed:
            remedy = f"; {MORE_MEMORY}" if reply.failed.kind == "oom" else ""
            output = crash_output(self.log, reply.failed.traceback)
            raise Ended(reply.failed.kind, f"{reply.failed.reason}{remedy}", alive=True, output=output)
        if reply.misplaced is not None:
            if self.job.side is None and self.job.role != "side":
                raise Ended("crashed", f"SideError: {reply.misplaced}", alive=True)
            raise SideError(reply.misplaced)
        if reply.scratch_full is not None:
            raise MachineError(f"{reply.scratch_full}; {MORE_SPACE}")
        if reply.unsupported is not None:
            raise Unsupported(reply.unsupported or "it gives no reason")
        return reply.ok

    def _wait(self, verb: str, seconds: float) -> dict[str, Any] | None:
        """The reply; None if the process is gone. Ended if it has to be killed.

        Compile time that the worker reports does not count, up to COMPILE_TURNS times `seconds`.
        """
        spent_s = {False: 0.0, True: 0.0}  # in its own turn, and compiling
        compiles, before = False, time.monotonic()
        while True:
            message = None
            if protocol.has_message(self.end, POLL_SECONDS):
                message = protocol.receive(self.end)[0]
                if message is None or "compiling" not in message:
                    return message
            now = time.monotonic()
            spent_s[compiles] += now - before
            before, compiles = now, bool(message["compiling"]) if message else compiles
            self.log.cut()
            over_limit = self.monitor.look(self.pid)
            if over_limit:
                self.close()
                raise Ended("oom", over_limit)
            compile_s = min(spent_s[True], COMPILE_TURNS * seconds)
            if sum(spent_s.values()) - compile_s > seconds:
                oom_evidence = self.monitor.near_limit(self.pid)
                self.close()
                compiling = f", not counting {compile_s:.0f} s of compiling" if compile_s >= 1 else ""
                late = f"no reply within {seconds:.0f} s{compiling}"
                if oom_evidence:
                    raise Ended("oom", f"{late}, {oom_evidence}; raise --memory")
                if verb == "prepare":
                    quicker = traits_of(self.job.framework).quicker_compile.get(self.job.case.device)
                    remedy = f"raise --timeout, or {quicker}" if quicker else "raise --timeout"
                    raise Ended("timeout", f"not compiled within {seconds:.0f} s; {remedy}")
                raise Ended("timeout", f"{late}; raise --timeout")

    def _was_killed(self) -> bool:
        """Whether it was killed while parked: only SIGKILL acts on a stopped process."""
        self.server.drain()
        return self.fork.exit_code == -signal.SIGKILL

    def _death(self) -> Ended:
        oom_evidence = self.monitor.near_limit(self.pid)
        self._await_exit(DEATH_SECONDS)
        # The counter is for the whole machine, so it is evidence only together with this process's SIGKILL.
        killed = oom_kills() > self.oom_kills
        end = exit_cause(self.fork.exit_code, self.log.tail(), oom_evidence, killed=killed)
        end.output = crash_output(self.log)
        self.close()
        return end

    def _await_exit(self, seconds: float) -> None:
        """Wait until the server has reported how the process ended, or is gone."""
        deadline = time.monotonic() + seconds
        while self.server.alive() and time.monotonic() < deadline:
            self.server.drain()
            if self.fork.exit_code is not None:
                break
            time.sleep(0.005)
        self.server.drain()

    def _signal(self, number: int) -> None:
        """Send a signal to the worker's group, and to the worker itself, which may have left its group."""
        if self.fork.exit_code is not None:
            return  # its id may be reused; the server has killed its descendants
        for send in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):  # it died; the next read reports it
                send(self.pid, number)

    def count_cores(self) -> int:
        return len(process_tree.allowed_cores(self.pid))

    def kill(self) -> None:
        """Kill the process; may be called while another thread waits for its reply."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        if self.open:
            self.open = False
            self.monitor.remove(self.pid)
            self._signal(signal.SIGKILL)
            self.end.close()
            self.log.remove()


class Processes:
    """Fork servers by framework, started when first needed and used for the whole run.

    A side of a gate has another `interpreter`, and the folders of `path` first on its import path.
    """

    def __init__(
        self,
        frameworks: Sequence[str],
        device: str,
        *,
        interpreter: str = sys.executable,
        path: Sequence[str] = (),
    ) -> None:
        self.scratch = ScratchFolder()
        self.folder, self.device = self.scratch.path, device
        self.interpreter, self.path = interpreter, path
        self.monitor = MemoryMonitor()
        self.numbers = itertools.count(1)
        self.starting = threading.Lock()
        self.servers: dict[str, Server] = {}
        try:
            for name in frameworks:
                self._start(name)
        except OSError as error:
            self.close()
            raise _nothing_starts(self.folder, error) from None

    def spawn(self, job: Job, limit_bytes: int) -> Process:
        self.monitor.limit_bytes = limit_bytes
        try:
            with self.starting:
                server = self.servers.get(job.framework)
                if server is None or not (server.alive() or server.missing):
                    server = self._start(job.framework)
            return Process(server, job, self.monitor, Log(self.folder / f"worker-{next(self.numbers)}.log"))
        except OSError as error:
            raise _nothing_starts(self.folder, error) from None

    def for_another_thread(self) -> "Processes":
        """The same servers with another memory monitor, for the turns of one thread."""
        other = copy.copy(self)
        other.monitor = MemoryMonitor()
        return other

    def _start(self, framework: str) -> Server:
        previous = self.servers.pop(framework, None)
        if previous is not None:
            previous.close()
        server = self.servers[framework] = Server(
            [framework], self.folder, self.device, interpreter=self.interpreter, path=self.path
        )
        return server

    def close(self) -> None:
        for server in self.servers.values():
            server.end.close()  # close all first, so that they end concurrently
        for server in self.servers.values():
            server.close()
        self.scratch.close()


def _nothing_starts(folder: Path | str, error: OSError) -> MachineError:
    return MachineError(
        f"cannot start a process in {folder} ({error.strerror}); "
        "free space or processes, set TMPDIR, or raise ulimit -n"
    )
