"""Fork servers that are forked themselves, from a process that has imported their framework.

Every run starts a fork server per framework, and importing torch takes three seconds of a core. A *template*
has imported it once for all commands of the tests. Its servers differ from those of a shell's command in what
Python and libc read when they start; tests of servers, and the sides of a gate by the clock, start real ones.
"""

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from harness.core.plain_data import digest
from harness.gate.timed.processes import PADDING
from harness.run.processes import fork_client

SERVER = ["-m", "harness.worker.fork_server"]
LIFE = "life"  # a socket of the tests' process, with whose end templates end
READ_AT_IMPORT = (
    "CUDA", "JAX", "KMP", "LD_", "MKL", "NUMBA", "OMP", "OPENBLAS", "PYTHON", "TF_", "TORCH", "TRITON", "XLA"
)  # fmt: skip
MOST_BYTES = 1 << 20  # of a request


@cache
def folder_of_templates():
    """(folder, what keeps it and the templates in it alive), one for this process."""
    folder, life = tempfile.TemporaryDirectory(prefix="templates-"), socket.socket(socket.AF_UNIX)
    life.bind(f"{folder.name}/{LIFE}")
    life.listen(64)
    return folder.name, (folder, life)


def start_from(folder):
    """From now on, this process forks its fork servers from the templates in `folder`."""

    def start(words, **given):
        if (
            words[:3] != [sys.executable, *SERVER] or PADDING in given["env"]
        ):  # a gate's side has its own start
            return subprocess.Popen(words, **given)
        return _fork_from_template(folder, words[3:], given)

    fork_client.subprocess = SimpleNamespace(
        Popen=start, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired
    )


class ForkedServer:
    """What the runner needs of a `Popen`, of a process that is another one's child."""

    def __init__(self, pid):
        self.descriptor = os.pidfd_open(pid)

    def poll(self):
        return 0 if select.select([self.descriptor], [], [], 0)[0] else None

    def wait(self, timeout=None):
        if not select.select([self.descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(SERVER, timeout)

    def kill(self):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)


def _fork_from_template(folder, words, given):
    names, _, run_folder, *untraced = words
    environment, (theirs,) = given["env"], given["pass_fds"]
    request = {
        "environment": environment,
        "cwd": str(Path.cwd()),
        "cores": sorted(os.sched_getaffinity(0)),
        "folder": run_folder,
    }
    with _connect_template(Path(folder), [names, *untraced], environment) as template:
        socket.send_fds(template, [json.dumps(request).encode()], [theirs, given["stdout"].fileno()])
        template.shutdown(socket.SHUT_WR)
        return ForkedServer(int(template.recv(32)))


def _connect_template(folder, words, environment):
    """A connection with the template for a framework in an environment; who asks first starts it."""
    *path, last = environment["PYTHONPATH"].split(os.pathsep)
    if last != str(Path.cwd()):  # which comes last, where the harness lies elsewhere
        path.append(last)
    own = {**environment, "PYTHONPATH": os.pathsep.join(path)}
    at_import = {name: text for name, text in own.items() if name.startswith(READ_AT_IMPORT)}
    place = folder / digest([words, at_import])[:16]
    with place.with_suffix(".lock").open("w") as lock, place.with_suffix(".log").open("a") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.preloaded_servers", str(place), *words],
                env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            while not place.exists():
                assert process.poll() is None, place.with_suffix(".log").read_text()
                time.sleep(0.02)
    template = socket.socket(socket.AF_UNIX)
    template.connect(str(place))
    return template


def serve(place, names, *untraced):
    """Import the frameworks, then fork a server for everyone who asks at the socket `place`."""
    from harness.worker import fork_server
    from harness.worker.frameworks import base

    for name in fork_server.PRELOADED:
        importlib.import_module(name)
    with suppress(ImportError):  # the servers find out themselves, and say so
        base.preload(names.split(","), tracing=not untraced)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended servers need no one to wait for them
    listener, life = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    life.connect(str(Path(place).with_name(LIFE)))
    listener.bind(f"{place}.{os.getpid()}")
    listener.listen(64)
    Path(f"{place}.{os.getpid()}").rename(place)
    while life not in select.select([life, listener], [], [])[0]:
        asker, _ = listener.accept()
        data, descriptors, _, _ = socket.recv_fds(asker, MOST_BYTES, 2)
        while piece := asker.recv(MOST_BYTES):
            data += piece
        pid = os.fork()
        if not pid:
            for end in (listener, life, asker):
                end.close()
            _become_server(json.loads(data), descriptors, names.split(","), tracing=not untraced)
        asker.send(str(pid).encode())
        asker.close()
        for descriptor in descriptors:
            os.close(descriptor)


def _become_server(request, descriptors, names, *, tracing):
    from harness.worker import fork_server

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        theirs, log = descriptors
        for number, source in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(source, number)
        os.close(log)
        before = len(os.environ["PYTHONPATH"].split(os.pathsep))
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:before] = os.environ["PYTHONPATH"].split(os.pathsep)
        tempfile.tempdir = None
        os.chdir(request["cwd"])
        os.sched_setaffinity(0, request["cores"])
        fork_server.main(names, theirs, request["folder"], tracing=tracing)
    except BaseException:
        traceback.print_exc()  # the last line says why, as that of a server that was started does
    finally:
        os._exit(0)


if __name__ == "__main__":
    serve(*sys.argv[1:])
