"""The fork server of one framework: it has imported the framework and initialised no backend.

`python -m harness.measure.server FRAMEWORK DESCRIPTOR FOLDER` answers on the inherited socket:
a request to fork carries a :class:`Job`, the worker's socket and its output file; the answer is a
process id, and later how that process ended. When the other end goes away, for whatever reason,
every process below this one is killed and the run's scratch folder removed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
from typing import Any

import psutil

from harness.measure import frameworks
from harness.spec import protocol

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _fork(job: dict[str, Any], fds: list[int], control: socket.socket, wake: int) -> int:
    """Fork a worker in a process group of its own; it dies with this server."""
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(code)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        os.close(wake)
        end = socket.socket(fileno=fds[0])
        os.dup2(fds[1], 1)
        os.dup2(fds[1], 2)
        os.close(fds[1])
        from harness.measure import serve

        serve.serve(protocol.Job(**job), end)
        code = 0
    finally:
        os._exit(code)


def _reap(control: socket.socket, workers: set[int]) -> None:
    """Report the workers that ended, and end what they left behind.

    This process is the subreaper: what a dead worker had started becomes its child.
    """
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == 0:
            break
        if pid in workers:
            workers.remove(pid)
            protocol.send(control, {"exited": pid, "status": os.waitstatus_to_exitcode(status)})
    for child in psutil.Process().children():
        if child.pid not in workers:
            child.kill()


def _kill_everything() -> None:
    """Kill all descendants, whatever group or session they moved to, until none is left."""
    while True:
        children = psutil.Process().children(recursive=True)
        alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
        if not alive:
            return
        for child in alive:
            child.kill()
        psutil.wait_procs(alive, timeout=0.1)


def main(framework: str, descriptor: int, folder: str) -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # while importing, nobody listens for the other end
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to answer
    control = socket.socket(fileno=descriptor)
    try:
        frameworks.preload(framework)
    except ImportError as error:
        protocol.send(control, {"missing": f"{framework} cannot be imported ({error})"})
        return
    gc.collect()
    gc.freeze()
    wake_in, wake_out = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
    protocol.send(control, {"ready": os.getpid()})
    _prctl(PR_SET_PDEATHSIG, 0)
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
                    _kill_everything()
                    shutil.rmtree(folder, ignore_errors=True)
                    return
                pid = _fork(message["fork"], fds, control, wake_in)
                workers.add(pid)
                for fd in fds:
                    os.close(fd)
                protocol.send(control, {"pid": pid})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
