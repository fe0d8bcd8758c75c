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
NEAR = "with 9.5 GiB taken of the 10.0 GiB allowed"


@pytest.mark.parametrize(
    ("code", "output", "near", "killed", "status", "says"),
    [
        (0, "bye\n", None, False, "crashed", 'exit code 0 instead of an answer: "bye"; run it alone'),
        (-signal.SIGABRT, "a\nterminate\n\n", None, False, "crashed", 'killed by SIGABRT: "terminate"'),
        (-40, "x" * 5000, None, False, "crashed", "killed by signal 40"),
        (-signal.SIGKILL, "", None, False, "crashed", "killed by SIGKILL"),
        (-signal.SIGKILL, "", None, True, "oom", "the kernel killed it"),
        (-signal.SIGSEGV, "", None, True, "crashed", "killed by SIGSEGV"),
        (-signal.SIGSEGV, "", NEAR, False, "oom", f"it died {NEAR}; raise --memory"),
        (None, "", None, False, "crashed", "it vanished with its server"),
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
    """The sizes of processes, as the test writes them."""

    def __init__(self, monkeypatch):
        self.private = {}
        self.mapped = {}
        self.looked = []
        self.repeated = {}
        self.counted = []
        monkeypatch.setattr(memory_monitor, "_private_bytes", self._private)
        monkeypatch.setattr(memory_monitor, "_mapped_bytes", lambda pid, _: self.mapped.get(pid, 0))
        monkeypatch.setattr(memory_monitor, "_repeated_bytes", self._repeated)

    def _private(self, pid):
        self.looked.append(pid)
        return self.private.get(pid, 0)

    def _repeated(self, pid):
        self.counted.append(pid)
        return self.repeated.get(pid, 0)


@pytest.fixture
def memory(monkeypatch):
    return Memory(monkeypatch)


def watching(memory, *pids, limit=10 * GIB):
    found = MemoryMonitor()
    found.limit_bytes = limit
    for pid in pids:
        found.add(pid, 10 * GIB)
    return found


def test_all_living_processes_share_one_limit(memory):
    watched = watching(memory, 1, 2)
    memory.private = {1: 6 * GIB, 2: 3 * GIB}
    assert watched.look(2) is None
    memory.private[2] = 5 * GIB
    assert watched.look(2) == "resident memory reached 11.0 GiB; the limit is 10.0 GiB: raise --memory"


def test_what_it_had_at_its_fork_is_not_its_own(memory):
    memory.private = {1: 8 * GIB}
    watched = watching(memory, 1)
    memory.private = {1: 17 * GIB}
    assert watched.look(1) is None
    assert watched.near_limit(1) == "with 9.00 GiB taken of the 10.0 GiB allowed"


def test_the_dead_do_not_count(memory):
    watched = watching(memory, 1, 2)
    memory.private = {1: 9 * GIB, 2: 9 * GIB}
    assert watched.look(1)
    watched.remove(2)
    assert watched.look(1) is None


def test_address_space_counts_as_taken(memory):
    watched = watching(memory, 1)
    memory.mapped = {1: int(9.7 * GIB)}
    watched.look(1)
    assert watched.near_limit(1) == "with 9.70 GiB taken of the 10.0 GiB allowed"
    assert watched.near_limit(2) is None


@pytest.mark.parametrize("pid", [os.getpid(), 2**22 + 1], ids=["this one", "one that has ended"])
def test_a_real_process_can_be_looked_at(pid):
    watched = MemoryMonitor()
    watched.limit_bytes = 10 * GIB
    watched.add(pid, 10 * GIB)
    assert watched.look(pid) is None
    assert watched.near_limit(pid) is None


def test_what_children_share_counts_once(memory):
    watched = watching(memory, 1, 2)
    memory.private, memory.repeated = {1: 40 * GIB, 2: GIB}, {1: 39 * GIB}
    for turn in (1, 2, 1):
        assert watched.look(turn) is None
    assert watched.near_limit(1) is None
    memory.repeated, watched.next_count_s = {1: 30 * GIB}, 0.0
    assert watched.look(1) == "resident memory reached 11.0 GiB; the limit is 10.0 GiB: raise --memory"
    assert watched.near_limit(1) == "with 10.0 GiB taken of the 10.0 GiB allowed"


def test_nobody_is_blamed_by_an_old_count(memory, monkeypatch):
    now = iter([100.0, 101.0, 102.0, 103.0])
    monkeypatch.setattr(memory_monitor.time, "monotonic", lambda: next(now))
    watched = watching(memory, 1)
    memory.private, memory.repeated = {1: 10 * GIB}, {1: 5 * GIB}
    assert watched.look(1) is None
    memory.private, memory.repeated = {1: 90 * GIB}, {1: 85 * GIB}  # more children, all in one second
    assert watched.look(1) is None


FATHER = """
import os, sys, time
block = bytearray(os.urandom(1 << 20)) * 32
writes = sys.argv[1] == "writes"
for _ in range(8):
    if not os.fork():
        if writes:
            for place in range(0, len(block), 4096):
                block[place] = 1
        os.write(1, b".")
        time.sleep(60)
os.wait()
"""


@pytest.mark.parametrize(("does", "most_mib"), [("reads", 64), ("writes", 400)])
def test_forked_children_take_what_they_write(does, most_mib):
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
