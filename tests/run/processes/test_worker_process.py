"""Processes where the machine refuses to start any, or gives a process's id to another."""

import errno
import os
import signal
import subprocess
import tempfile
import threading
from types import SimpleNamespace

import pytest

from harness.core import protocol
from harness.core.errors import MachineError
from harness.run.processes.fork_client import Server
from harness.run.processes.memory_monitor import MemoryMonitor
from harness.run.processes.output_log import Log
from harness.run.processes.worker_process import Process, Processes

FULL, MANY_FILES = (OSError(number, os.strerror(number)) for number in (errno.ENOSPC, errno.EMFILE))


@pytest.mark.parametrize(
    ("holder", "name", "error", "says"),
    [
        (
            tempfile,
            "mkdtemp",
            FULL,
            r"cannot create a folder in .* \(No space left on device\); .* set TMPDIR",
        ),
        (subprocess, "Popen", MANY_FILES, r"\(Too many open files\); .* raise ulimit -n"),
        (Log, "open", FULL, "cannot start a process in"),
    ],
)
def test_start_errors_are_one_sentence_and_clean_up(tmp_path, monkeypatch, holder, name, error, says):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(holder, name, refuse)
    with pytest.raises(MachineError, match=says):
        Processes(["numpy"], "cpu")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def server(tmp_path, monkeypatch):
    """(a client, the end at which the test speaks for the fork server)."""
    mine, theirs = protocol.pair()
    monkeypatch.setattr(protocol, "pair", lambda: (mine, theirs.dup()))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: SimpleNamespace(poll=lambda: None))
    client = Server(["numpy"], tmp_path, "cpu")
    monkeypatch.undo()
    protocol.send(theirs, {"ready": 1})
    yield client, theirs
    mine.close()
    theirs.close()


def test_reused_process_id_is_not_killed(server, tmp_path, monkeypatch):
    client, end = server
    signals = []
    monkeypatch.setattr(os, "kill", lambda *sent: signals.append(sent))
    monkeypatch.setattr(os, "killpg", lambda *sent: signals.append(sent))
    job = SimpleNamespace(role="reference", framework="numpy", to_json=dict)

    def spawn():
        protocol.send(end, {"pid": 2**30})
        return Process(client, job, MemoryMonitor(), Log(tmp_path / "worker.log"))

    first = spawn()
    protocol.send(end, {"exited": 2**30, "status": -signal.SIGKILL})
    second = spawn()
    assert (first.fork.exit_code, second.fork.exit_code) == (-signal.SIGKILL, None)
    first.close()
    assert signals == []
    second.close()
    assert signals == [(2**30, signal.SIGKILL)] * 2


def test_thread_reading_exits_keeps_other_threads_workers(server):
    """Threads share a server: a thread that reads exits must not take the reply to another thread's fork."""
    client, end = server
    forked = []
    forking = threading.Thread(target=lambda: forked.append(client.fork(SimpleNamespace(to_json=dict), [])))
    forking.start()
    assert protocol.receive(end)[0] == {"fork": {}}
    draining = threading.Thread(target=client.drain)
    draining.start()
    protocol.send(end, {"pid": 41})
    for thread in (forking, draining):
        thread.join(10)
    assert [fork.pid for fork in forked] == [41]
