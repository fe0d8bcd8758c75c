"""The descendants of a process, from the kernel."""

import os
import subprocess
from contextlib import contextmanager

import pytest

from harness.core import process_tree
from harness.core.process_tree import allowed_cores, with_descendants


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


@pytest.mark.parametrize("listed", [True, False])
def test_process_tree_has_all_descendants(monkeypatch, listed):
    monkeypatch.setattr(process_tree, "LISTED", listed)  # not by kernels without CONFIG_PROC_CHILDREN
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
