"""What the kernel says of processes below a worker or a server."""

import os
import resource
import subprocess
from contextlib import contextmanager

import pytest

from harness.run.processes.process_tree import allowed_cores, orphans, scheduling_of, with_descendants


@contextmanager
def shell(command):
    """A shell that has started something below it and printed a line."""
    process = subprocess.Popen(
        ["sh", "-c", command], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        process.stdout.close()


def test_a_family_is_a_process_and_all_below_it():
    with shell("sleep 60 & echo; wait") as process:
        members = with_descendants(process.pid)
        assert members[0] == process.pid
        assert len(members) == 2
    assert with_descendants(process.pid) == [process.pid]


def test_cores_are_those_of_every_member():
    every = sorted(os.sched_getaffinity(0))
    with shell("sleep 60 & echo; wait") as process:
        for member in with_descendants(process.pid):
            os.sched_setaffinity(member, every[:1])
        assert allowed_cores(process.pid) == set(every[:1])
        os.sched_setaffinity(with_descendants(process.pid)[1], every)
        assert allowed_cores(process.pid) == set(every)
    assert allowed_cores(process.pid) == set()


def test_orphans_are_living_children_that_nobody_has_forked():
    with shell("echo; exec sleep 60") as process:
        assert orphans(os.getpid(), set())[process.pid].endswith(f" ({process.pid})")
        assert process.pid not in orphans(os.getpid(), {process.pid})
        os.kill(process.pid, 9)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the kernel's list
        assert process.pid not in orphans(os.getpid(), set())


def test_a_stray_may_have_any_name():
    with shell(r"printf 'o)d\377\033[1md' > /proc/self/comm; echo; sleep 60 & wait") as process:
        assert orphans(os.getpid(), set())[process.pid] == f"o)d\ufffdd ({process.pid})"


@pytest.mark.parametrize(
    "change",
    [
        lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (60, 60)),
        lambda pid: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    ],
)
def test_what_a_process_may_have_changes_where_somebody_changes_it(change):
    with shell("echo; exec sleep 60") as process:
        before = scheduling_of(process.pid)
        assert before == scheduling_of(process.pid)
        change(process.pid)
        assert before != scheduling_of(process.pid)
    assert scheduling_of(process.pid) is None
