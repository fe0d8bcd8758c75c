"""Fork server: imports frameworks without initialising a backend, and forks workers on request.

`python -m harness.worker.fork_server FRAMEWORK,… DESCRIPTOR FOLDER [untraced]` serves the inherited socket. A
fork request contains a :class:`Job`, the worker's socket and its output file. The server replies with the
process id, and reports the exit status later. When the runner closes the socket or dies, the server kills all
its descendants and removes the run's scratch folder.
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
from pathlib import Path
from typing import Any

import psutil

from harness.core import protocol
from harness.core.process_tree import children, with_descendants
from harness.worker.frameworks import base as frameworks

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PRELOADED = ("harness.worker.request_loop", "harness.catalog.face")  # for every worker; face for plugins
CUDA_LIBRARY = "libcuda.so.1"
CUDA_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED, of every driver call before cuInit
CUDA_INITIALIZED = "importing it calls cuInit, after which forked processes cannot use CUDA"
FAILED = 70  # exit status of a worker that cannot reply, and of a server after SIGTERM


class RunnerGone(Exception):  # noqa: N818 - the regular end of a run
    """The runner has closed its end of the socket, or has died."""


def main(names: Sequence[str], descriptor: int, folder: str, *, tracing: bool) -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the socket is not watched during imports
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner handles Ctrl-C
    control = socket.socket(fileno=descriptor)
    try:
        _check_runner(control)
        try:
            for name in PRELOADED:
                importlib.import_module(name)
            frameworks.preload(names, tracing=tracing)
            if has_called_cu_init():
                raise RuntimeError(CUDA_INITIALIZED)
        except Exception as error:  # an import can raise anything
            _send(control, {"missing": f"{' and '.join(names)} cannot be imported ({error})"})
        else:
            # A worker's garbage collection skips frozen objects. It would otherwise write to pages that it
            # shares with this process, and so copy them (documentation of gc.freeze).
            gc.collect()
            gc.freeze()
            _send(control, {"ready": os.getpid()})
        # PDEATHSIG is sent when the thread that started this process ends (prctl(2)), and leaves no time to
        # clean up. From now on the closed socket shows that the runner is gone.
        _prctl(PR_SET_PDEATHSIG, 0)
        _loop(control)
    except RunnerGone:
        _kill_everything()
        shutil.rmtree(folder, ignore_errors=True)
    finally:  # the folder remains after SIGTERM: other servers may need it
        _kill_everything()


def has_called_cu_init() -> bool:
    """Whether `cuInit` was called in this process. Processes forked after that cannot use CUDA.

    `cuCtxGetCurrent` does not need a context or initialise CUDA (CUDA Driver API, Context Management).
    """
    if CUDA_LIBRARY not in Path("/proc/self/maps").read_text(errors="replace"):
        return False
    get_current = getattr(ctypes.CDLL(CUDA_LIBRARY), "cuCtxGetCurrent", None)
    return get_current is not None and get_current(ctypes.byref(ctypes.c_void_p())) != CUDA_NOT_INITIALIZED


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _check_runner(control: socket.socket) -> None:
    """Raise RunnerGone if the other end was closed before PDEATHSIG was set."""
    with suppress(BlockingIOError):  # open, with nothing to read yet
        if not control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            raise RunnerGone


def _send(control: socket.socket, message: Mapping[str, Any]) -> None:
    try:
        protocol.send(control, message)
    except OSError:
        raise RunnerGone from None


def _loop(control: socket.socket) -> None:
    """Fork on request and report ended workers, until the runner is gone."""
    wake_in, wake_out = os.pipe2(os.O_NONBLOCK)
    # Only signals with a handler write to the wake-up descriptor, so the handler is empty. The pipe wakes the
    # loop because an interrupted select resumes (PEP 475).
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
                    raise RunnerGone
                pid = _fork(message["fork"], fds, [control.fileno(), wake_in, wake_out, selector.fileno()])
                workers.add(pid)
                for fd in fds:
                    os.close(fd)
                _send(control, {"pid": pid})


def _fork(job: Mapping[str, Any], fds: list[int], inherited: list[int]) -> int:
    """Fork a worker in its own process group, which the kernel kills if this server dies.

    `inherited` are the server's descriptors, which the worker closes.
    """
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    try:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # If the server died before the line above, no signal will come (prctl(2)).
        if os.getppid() != server:
            os._exit(code)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for fd in inherited:
            os.close(fd)
        end = socket.socket(fileno=fds[0])
        os.dup2(fds[1], 1)
        os.dup2(fds[1], 2)
        os.close(fds[1])
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # os._exit and signals discard buffers
        from harness.worker import request_loop

        request_loop.serve(protocol.Job.from_json(job), end)
        code = 0
    except BaseException:
        traceback.print_exc()  # the runner quotes the last line of the worker's output
    finally:
        # Skip the server's exit handlers and finally blocks, which the fork has copied.
        os._exit(code)


def _reap(control: socket.socket, workers: set[int]) -> None:
    """Report ended workers, and kill the processes that they started.

    This process is a subreaper: it becomes the parent of a dead worker's children. Suspending a worker
    (SIGSTOP) also raises SIGCHLD, but then nothing is scanned or killed.
    """
    ended = 0
    with suppress(ChildProcessError):
        # One SIGCHLD may report several ended processes: standard signals do not queue (signal(7)).
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
    """Kill all descendants in any process group or session, until none is left."""
    # A process list may lack a process with a parent that has just ended, which is now a child of this one.
    # So the loop ends only when waitpid reports that there are no children.
    with suppress(ChildProcessError):
        while True:
            alive = [child for pid in with_descendants(os.getpid())[1:] if (child := _kill(pid))]
            psutil.wait_procs(alive, timeout=0.05)
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue


def _kill(pid: int) -> psutil.Process | None:
    """Kill a process; None if it was not alive."""
    with suppress(psutil.NoSuchProcess):
        child = psutil.Process(pid)
        if child.status() != psutil.STATUS_ZOMBIE:
            child.kill()
            return child
    return None


if __name__ == "__main__":
    main(sys.argv[1].split(","), int(sys.argv[2]), sys.argv[3], tracing="untraced" not in sys.argv[4:])
