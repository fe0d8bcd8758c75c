"""The fork server of some frameworks: it has imported them and initialised no backend.

`python -m harness.worker.fork_server FRAMEWORK,… DESCRIPTOR FOLDER [untraced]` answers on the inherited
socket: a request to fork carries a :class:`Job`, the worker's socket and its output file; the answer
is a process id, and later how that process ended. When the other end goes away, for whatever reason,
every process below this one is killed and the run's scratch folder removed.
"""

import ctypes
import gc
import importlib
import io
import os
import selectors
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import psutil

from harness.core import protocol
from harness.core.process_tree import children, with_descendants
from harness.worker.frameworks import base as frameworks

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
EVERY_WORKER_NEEDS = ("harness.worker.request_loop", "harness.catalog.face")  # the latter for plugins
FAILED = 70  # exit status of a worker that cannot even answer, and of a server that got SIGTERM


class Gone(Exception):  # noqa: N818 - nothing went wrong: the run is over
    """The runner has closed the other end of the socket, or has died."""


def main(names: Sequence[str], descriptor: int, folder: str, *, tracing: bool) -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # while importing, the socket's other end is not watched
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to answer
    control = socket.socket(fileno=descriptor)
    try:
        _look(control)
        try:
            for name in EVERY_WORKER_NEEDS:  # once, for all that are forked
                importlib.import_module(name)
            frameworks.preload(names, tracing=tracing)
        except Exception as error:  # an import may raise anything
            _send(control, {"missing": f"{' and '.join(names)} cannot be imported ({error})"})
        else:
            # A worker's collections skip what is frozen, and so do not write to, and copy,
            # the pages it shares with this process (documentation of gc.freeze).
            gc.collect()
            gc.freeze()
            _send(control, {"ready": os.getpid()})
        # The signal comes when the thread that started this process ends (prctl(2)),
        # and leaves no time to clean up; from here on the socket tells.
        _prctl(PR_SET_PDEATHSIG, 0)
        _loop(control)
    except Gone:
        _kill_everything()
        shutil.rmtree(folder, ignore_errors=True)
    finally:  # another server may still need the folder when only this one is told to end
        _kill_everything()


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _look(control: socket.socket) -> None:
    """Raise Gone when the other end went away before its death could be noticed."""
    with suppress(BlockingIOError):  # nothing to read yet, from somebody who is there
        if not control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            raise Gone


def _send(control: socket.socket, message: Mapping[str, Any]) -> None:
    try:
        protocol.send(control, message)
    except OSError:
        raise Gone from None


def _loop(control: socket.socket) -> None:
    """Fork on request and report ended workers, until the other end goes away."""
    wake_in, wake_out = os.pipe2(os.O_NONBLOCK)
    # An ignored signal writes nothing to the wake-up descriptor, and a select that a signal
    # interrupts is resumed (PEP 475): so there are handlers, and a pipe that wakes the loop.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))
    signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
    workers: set[int] = set()
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(wake_in, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == wake_in:
                    os.read(wake_in, 4096)
                    _reap(control, workers)
                    continue
                message, fds = protocol.receive(control)
                if message is None:
                    raise Gone
                pid = _fork(message["fork"], fds, [control.fileno(), wake_in, wake_out, selector.fileno()])
                workers.add(pid)
                for fd in fds:
                    os.close(fd)
                _send(control, {"pid": pid})


def _fork(job: Mapping[str, Any], fds: list[int], mine: list[int]) -> int:
    """Fork a worker in a process group of its own; it dies with this server.

    `mine` are the server's own descriptors, which a worker has no use for.
    """
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    try:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # A server that died before the line above will send no signal (prctl(2)).
        if os.getppid() != server:
            os._exit(code)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for fd in mine:
            os.close(fd)
        end = socket.socket(fileno=fds[0])
        os.dup2(fds[1], 1)
        os.dup2(fds[1], 2)
        os.close(fds[1])
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # a buffer would die with the process
        from harness.worker import request_loop

        request_loop.serve(protocol.Job.from_json(job), end)
        code = 0
    except BaseException:
        traceback.print_exc()  # into the worker's own output, whose last line the runner quotes
    finally:
        # Exit handlers and finally blocks of the server are copied too, and must not run here.
        os._exit(code)


def _reap(control: socket.socket, workers: set[int]) -> None:
    """Report the workers that ended, and kill the processes that they left behind.

    This process is the subreaper, so the children of a dead worker become its own. Stopping (parking) a
    worker raises SIGCHLD too, but then none has ended, so nothing is scanned or killed.
    """
    ended = 0
    with suppress(ChildProcessError):
        # One SIGCHLD may stand for several ends: standard signals do not queue (signal(7)).
        while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
            ended, status = reaped
            if ended in workers:
                workers.remove(ended)
                _send(control, {"exited": ended, "status": os.waitstatus_to_exitcode(status)})
    if ended:
        for pid in children(os.getpid()):
            if pid not in workers:
                _kill(pid)


def _kill_everything() -> None:
    """Kill all descendants, whatever group or session they moved to, until none is left."""
    # A list of processes is old when it is made, and may lack one whose parent ends meanwhile, which is this
    # process's own child then. So the end is the kernel's word that there are no children.
    with suppress(ChildProcessError):
        while True:
            alive = [child for pid in with_descendants(os.getpid())[1:] if (child := _kill(pid))]
            psutil.wait_procs(alive, timeout=0.05)
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue


def _kill(pid: int) -> psutil.Process | None:
    """Kill a process; None where it was not alive."""
    with suppress(psutil.NoSuchProcess):
        child = psutil.Process(pid)
        if child.status() != psutil.STATUS_ZOMBIE:
            child.kill()
            return child
    return None


if __name__ == "__main__":
    main(sys.argv[1].split(","), int(sys.argv[2]), sys.argv[3], tracing="untraced" not in sys.argv[4:])
