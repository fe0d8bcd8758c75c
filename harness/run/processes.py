"""The real executor: fork servers, and workers that are stopped between their turns."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.run.executor import Ended
from harness.run.watch import Watch, explain
from harness.spec import protocol
from harness.spec.errors import MachineError, Unsupported
from harness.spec.protocol import Job

START_SECONDS = 180.0
POLL_SECONDS = 0.05

ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",  # else libtpu is mapped and chatters
    "OMP_WAIT_POLICY": "PASSIVE",  # a spinning neighbour doubles a torch sample
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "PYTHONUNBUFFERED": "1",
}


class Server:
    """A fork server, started in the background and waited for at its first use."""

    def __init__(self, framework: str, folder: Path, device: str) -> None:
        self.framework = framework
        self.exits: dict[int, int] = {}
        self.missing: str | None = None
        self.ready = False
        mine, theirs = protocol.pair()
        self.end = mine
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": path}
        if device != "cpu":
            environment["JAX_PLATFORMS"] = f"{device},cpu"
        self.log = Path(folder / f"server-{framework}.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "harness.measure.server",
                    framework,
                    str(theirs.fileno()),
                    str(folder),
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        theirs.close()

    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_ready(self) -> None:
        if self.ready:
            return
        self.end.settimeout(START_SECONDS)
        try:
            message, _ = protocol.receive(self.end)
        except TimeoutError:
            raise MachineError(
                f"importing {self.framework} took more than {START_SECONDS:.0f} s; free the machine and retry"
            ) from None
        if message is None:
            lines = self.log.read_text(errors="replace").strip().splitlines()
            raise MachineError(
                f"the {self.framework} server did not start: {lines[-1] if lines else 'no word'}"
            )
        self.missing = message.get("missing")
        self.ready = True

    def fork(self, job: Job, fds: list[int]) -> int:
        self.wait_ready()
        if self.missing:
            raise Unsupported(f"{self.missing}; pip install {job.framework}")
        protocol.send(self.end, {"fork": job.to_json()}, fds)
        while True:
            message, _ = protocol.receive(self.end)
            if message is None:
                raise Ended("crashed", f"the {self.framework} server died; another one is started")
            if "pid" in message:
                return int(message["pid"])
            self.exits[message["exited"]] = message["status"]

    def drain(self) -> None:
        """Take what the server has said about ended workers."""
        while self.end.fileno() >= 0 and select.select([self.end], [], [], 0)[0]:
            message, _ = protocol.receive(self.end)
            if message is None:
                return
            if "exited" in message:
                self.exits[message["exited"]] = message["status"]

    def close(self) -> None:
        self.end.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Process:
    """A worker in its own process group; see :class:`harness.run.executor.Worker`."""

    def __init__(self, server: Server, job: Job, watch: Watch, log: Path) -> None:
        self.server, self.job, self.watch, self.log = server, job, watch, log
        mine, theirs = protocol.pair()
        self.end = mine
        with log.open("wb") as output:
            self.pid = server.fork(job, [theirs.fileno(), output.fileno()])
        theirs.close()
        self.open = True
        if job.role == "case":  # a desk's memory is the harness's own
            watch.add(self.pid, job.memory_bytes)

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        self._signal(signal.SIGCONT)
        deadline = time.monotonic() + seconds
        try:
            protocol.send(self.end, {"do": verb, **arguments})
            answer = self._wait(deadline, seconds)
        except (BrokenPipeError, ConnectionResetError):
            answer = None
        if answer is None:
            raise self._died()
        self._signal(signal.SIGSTOP)
        if "unsupported" in answer:
            raise Unsupported(answer["unsupported"])
        if "failed" in answer:
            raise Ended(answer["failed"]["kind"], answer["failed"]["reason"])
        return answer["ok"]

    def _wait(self, deadline: float, seconds: float) -> dict[str, Any] | None:
        while not select.select([self.end], [], [], POLL_SECONDS)[0]:
            over = self.watch.look(self.pid)
            if over:
                self.close()
                raise Ended("oom", over)
            if time.monotonic() > deadline:
                near = self.watch.near_limit(self.pid) or self.watch.growing(self.pid)
                self.close()
                if near:
                    raise Ended("oom", f"no answer within {seconds:.0f} s, {near}; raise --memory")
                raise Ended("timeout", f"no answer within {seconds:.0f} s of its own turn; raise --timeout")
        return protocol.receive(self.end)[0]

    def _died(self) -> Ended:
        near = self.watch.near_limit(self.pid)
        for _ in range(200):
            self.server.drain()
            if self.pid in self.server.exits or not self.server.alive():
                break
            time.sleep(0.005)
        output = self.log.read_text(errors="replace")[-4000:]
        self.close()
        return Ended(*explain(self.server.exits.get(self.pid), output, near))

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # it died; the next read says so
            os.killpg(self.pid, number)

    def close(self) -> None:
        if self.open:
            self.open = False
            self.watch.remove(self.pid)
            self._signal(signal.SIGKILL)
            self.end.close()
            self.log.unlink(missing_ok=True)


class Processes:
    """Fork servers by framework, started when first named and kept for the whole run."""

    def __init__(self, frameworks: list[str], device: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="seqsweep-"))
        self.device = device
        self.watch = Watch()
        self.fork_s = 0.0
        self.count = 0
        self.servers = {name: Server(name, self.folder, device) for name in frameworks}

    def spawn(self, job: Job, limit_bytes: int) -> Process:
        start = time.monotonic()
        self.watch.limit_bytes = limit_bytes
        server = self.servers.get(job.framework)
        if server is None or not server.alive():
            server = self.servers[job.framework] = Server(job.framework, self.folder, self.device)
        self.count += 1
        process = Process(server, job, self.watch, self.folder / f"worker-{self.count}.log")
        self.fork_s += time.monotonic() - start
        return process

    def spent(self) -> Mapping[str, float]:
        return {"fork": self.fork_s}

    def close(self) -> None:
        for server in self.servers.values():
            server.end.close()  # all of them first: each then ends its own processes
        for server in self.servers.values():
            server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
