"""Why a process died, and what the watcher counts, on written numbers."""

import os
import signal
import subprocess
import sys

import pytest

from harness.run.processes import memory_monitor
from harness.run.processes.memory_monitor import MemoryMonitor
from harness.run.processes.output_log import exit_cause

GIB = 2**30
NEAR = "using 9.5 GiB of the 10.0 GiB allowed"


@pytest.mark.parametrize(
    ("code", "output", "near", "killed", "status", "says"),
    [
        (0, "bye\n", None, False, "crashed", 'exit code 0 instead of a reply: "bye"; run only'),
        (-signal.SIGABRT, "a\nterminate\n\n", None, False, "crashed", 'killed by SIGABRT: "terminate"'),
        (-40, "x" * 5000, None, False, "crashed", "killed by signal 40"),
        (-signal.SIGKILL, "", None, False, "crashed", "killed by SIGKILL"),
        (-signal.SIGKILL, "", None, True, "oom", "the kernel killed it"),
        (-signal.SIGSEGV, "", None, True, "crashed", "killed by SIGSEGV"),
        (-signal.SIGSEGV, "", NEAR, False, "oom", f"it died {NEAR}; raise --memory"),
        (None, "", None, False, "crashed", "it ended with its server"),
        (1, "RESOURCE_EXHAUSTED: Out of memory\n", None, False, "oom", "RESOURCE_EXHAUSTED"),
        (1, "what(): std::bad_alloc\n", None, False, "oom", 'it died: "what(): std::bad_alloc"'),
    ],
)
def test_explain(code, output, near, killed, status, says):
    cause = exit_cause(code, output, near, killed=killed)
    assert cause.status == status
    assert says in cause.reason
    assert "\n" not in cause.reason
    assert len(cause.reason) < 300


class Memory:
    """The sizes of processes in GiB, as the test writes them."""

    def __init__(self):
        self.private, self.mapped, self.repeated = {}, {}, {}


@pytest.fixture
def memory(monkeypatch):
    sizes = Memory()

    def size_of(kind):
        return lambda pid, *_: int(getattr(sizes, kind).get(pid, 0) * GIB)

    for kind in vars(sizes):
        monkeypatch.setattr(memory_monitor, f"_{kind}_bytes", size_of(kind))
    return sizes


def watching(*pids):
    found = MemoryMonitor()
    found.limit_bytes = 10 * GIB
    for pid in pids:
        found.add(pid, 10 * GIB)
    return found


OVER = "resident memory reached 11.0 GiB, over the limit of 10.0 GiB; raise --memory"


@pytest.mark.parametrize(
    ("at_fork", "sizes", "says", "near"),
    [
        ({}, {"private": {1: 6, 2: 3}}, None, None),
        ({}, {"private": {1: 6, 2: 5}}, OVER, None),  # all living processes share one limit
        ({1: 8}, {"private": {1: 17}}, None, "9.00"),  # what it had at its fork is not its own
        ({}, {"mapped": {1: 9.7}}, None, "9.70"),  # address space counts as taken
        ({}, {"private": {1: 40, 2: 1}, "repeated": {1: 39}}, None, None),  # children share it
        ({}, {"private": {1: 40, 2: 1}, "repeated": {1: 30}}, OVER, "10.0"),
    ],
)
def test_memory_is_counted_per_process_and_together(memory, at_fork, sizes, says, near):
    memory.private = at_fork
    watched = watching(1, 2)
    vars(memory).update(sizes)
    assert watched.look(99) is None, "a reference's turn"
    assert watched.look(1) == says
    assert watched.near_limit(1) == (f"using {near} GiB of the 10.0 GiB allowed" if near else None)


def test_ended_processes_do_not_count(memory):
    watched = watching(1, 2)
    memory.private = {1: 9, 2: 9}
    assert watched.look(1)
    watched.remove(2)
    assert watched.look(1) is None


@pytest.mark.parametrize("pid", [os.getpid(), 2**22 + 1], ids=["this one", "one that has ended"])
def test_memory_of_a_real_process_is_read(pid):
    watched = MemoryMonitor()
    watched.limit_bytes = 10 * GIB
    watched.add(pid, 10 * GIB)
    assert watched.look(pid) is None
    assert watched.near_limit(pid) is None


def test_old_count_exceeds_no_limit(memory, monkeypatch):
    now = iter([100.0, 101.0, 102.0, 103.0])
    monkeypatch.setattr(memory_monitor.time, "monotonic", lambda: next(now))
    watched = watching(1)
    memory.private, memory.repeated = {1: 10}, {1: 5}
    assert watched.look(1) is None
    memory.private, memory.repeated = {1: 90}, {1: 85}  # more children, all in one second
    assert watched.look(1) is None


FATHER = """
import os, signal, sys
block = bytearray(os.urandom(1 << 20)) * 32
writes = sys.argv[1] == "writes"
for _ in range(8):
    if not os.fork():
        if writes:
            for place in range(0, len(block), 4096):
                block[place] = 1
        os.write(1, b".")
        signal.pause()
os.wait()
"""


@pytest.mark.parametrize(("does", "most_mib"), [("reads", 64), ("writes", 400)])
def test_forked_children_count_written_pages(does, most_mib):
    command = [sys.executable, "-c", FATHER, does]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as father:
        try:
            assert father.stdout
            assert father.stdout.read(8) == b"........"
            watched = MemoryMonitor()
            watched.limit_bytes = 128 << 20
            watched.add(father.pid, 128 << 20)
            watched.watched[father.pid].before = 0
            objection = watched.look(father.pid)
            assert (objection is None) is (does == "reads"), objection
            assert watched.watched[father.pid].taken < most_mib << 20
        finally:
            os.killpg(father.pid, signal.SIGKILL)
