"""The runner's client of a fork server, which starts in the background and is waited for at its first use."""

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.catalog import child_process
from harness.catalog.known_frameworks import traits_of
from harness.core import protocol
from harness.core.errors import MachineError, Unsupported
from harness.core.protocol import Job
from harness.run.processes.executor import Ended
from harness.run.processes.output_log import Log, last_line

START_SECONDS = 180.0
FORK_SECONDS = 60.0
END_SECONDS = 10.0

ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",  # otherwise libtpu is mapped and prints
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "PYTHONUNBUFFERED": "1",
    # Whether glibc returns freed memory to the system depends on the layout of a process's heap. If it does,
    # every call faults its pages in again: 3 of 10 pairs of equal programs differed by a factor of 2.3.
    # A long-lived process reaches the first value without this setting (mallopt(3), M_MMAP_THRESHOLD).
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
}


@dataclass(eq=False)
class Fork:
    """A forked worker; `exit_code` is None until the server has reported its end.

    Afterwards the system may reuse its process id, so no signal may be sent to it.
    """

    pid: int
    exit_code: int | None = None


class Server:
    """A fork server. `living` maps process ids to workers without a reported end. Thread-safe.

    `interpreter`, `path` and `environment` are for the sides of a gate: another Python, folders at the start
    of its import path, further variables. Without `tracing` workers start sooner, but have no figures from
    fake tensors.
    """

    def __init__(
        self,
        frameworks: Sequence[str],
        folder: Path,
        device: str,
        *,
        interpreter: str = sys.executable,
        path: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        tracing: bool = True,
    ) -> None:
        self.frameworks = ",".join(frameworks)
        self.living: dict[int, Fork] = {}
        self.missing: str | None = None
        self.ready = False
        self.talking = threading.Lock()  # one request and its reply at a time
        self.end, theirs = protocol.pair()
        self.log = Log(folder / f"server-{self.frameworks}-{self.end.fileno()}.log")
        arguments = [self.frameworks, str(theirs.fileno()), str(folder), *([] if tracing else ["untraced"])]
        try:
            with theirs, self.log.open() as log:
                self.process = subprocess.Popen(
                    [interpreter, "-m", "harness.worker.fork_server", *arguments],
                    env={**worker_environment(device, path), **(environment or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except OSError:
            self.end.close()
            raise

    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_ready(self) -> None:
        """Wait until the frameworks are imported. MachineError when that fails."""
        if self.ready:
            return
        self.end.settimeout(START_SECONDS)
        try:
            message, _ = protocol.receive(self.end)
        except TimeoutError:
            raise MachineError(
                f"importing {self.frameworks} took more than {START_SECONDS:.0f} s; end other programs"
            ) from None
        if message is None:
            raise MachineError(
                f"the {self.frameworks} server did not start ({last_line(self.log.tail())}); "
                f"try: python -c 'import {self.frameworks}'"
            )
        self.missing = message.get("missing")
        self.ready = True
        self.end.settimeout(FORK_SECONDS)

    def fork(self, job: Job, fds: list[int]) -> Fork:
        """Fork a new worker. Unsupported if the framework is missing, Ended if the server fails."""
        with self.talking:
            self.wait_ready()
            if self.missing:
                raise Unsupported(f"{self.missing}; {traits_of(job.framework).remedy}")
            try:
                protocol.send(self.end, {"fork": job.to_json()}, fds)
                while (pid := self._take()) == 0:
                    continue
            except (BrokenPipeError, ConnectionResetError):
                pid = None
            except TimeoutError:
                self.close()
                why = f"the {self.frameworks} server did not fork within {FORK_SECONDS:.0f} s"
                raise Ended("crashed", f"{why}; end other programs") from None
            if pid is None:
                raise Ended("crashed", f"the {self.frameworks} server died; the next case starts a new one")
            worker = self.living[pid] = Fork(pid)
            return worker

    def drain(self) -> None:
        """Read the server's messages about ended workers."""
        with self.talking:
            while self.end.fileno() >= 0 and protocol.has_message(self.end, 0):
                if self._take() is None:
                    return

    def _take(self) -> int | None:
        """Read one message: the id of a new worker, 0 for the end of one, None when the server is gone."""
        message, _ = protocol.receive(self.end)
        if message is None:
            return None
        if "exited" in message:
            self.living.pop(message["exited"]).exit_code = message["status"]
            return 0
        return int(message["pid"])

    def close(self) -> None:
        """Close the socket; the server then kills all its descendants, and ends."""
        self.end.close()
        try:
            self.process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def worker_environment(device: str, path: Sequence[str] = ()) -> dict[str, str]:
    environment = {**child_process.environment(path), **ENVIRONMENT}
    if device != "cpu":
        environment["JAX_PLATFORMS"] = f"{device},cpu"
    return environment
