"""A disk that is full at any write: the folder is as before or as after, and the sentence names the place."""

import errno
import os

import pytest

from harness.collection.collection import collect
from harness.core.errors import MachineError
from harness.store import atomic
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from tests.collection.test_collection import store_shard
from tests.records import PASSED, record_of, timing_of


class FullDisk:
    """os.write that fails from its `last` call on, with half of that call's bytes on the disk."""

    def __init__(self, last):
        self.last, self.calls, self.write = last, 0, os.write

    def __call__(self, descriptor, data):
        self.calls += 1
        if self.calls < self.last:
            return self.write(descriptor, data)
        if self.calls == self.last and len(data) > 1:
            return self.write(descriptor, bytes(data)[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def groups():
    return [
        [
            record_of(name, seq, timing=timing_of([1.0, 2.0]), correctness=PASSED)
            for name in ("base", "scatter")
        ]
        for seq in (1024, 2048, 4096)
    ]


def write_run(results):
    """Every kind of write that a run makes, one after the other; what it has written of its records."""
    done = []
    folder = RunFolder.create(results, "20261120T113000Z-1a2b3c4", {"suites": {}})
    folder.write_fingerprint({"cpu": "one"})
    folder.write_environment({"load": [0.5]})
    for group in groups():
        folder.append(group)
        done += group
    folder.write_crash(done[0].as_case, 0, "a traceback")
    folder.update_info(finished="2026-11-20T12:00:00+00:00")
    return done


def writes_of(act, monkeypatch):
    counter = FullDisk(10**9)
    monkeypatch.setattr(atomic.os, "write", counter)
    act()
    monkeypatch.undo()
    return counter.calls


def test_a_run_on_a_disk_that_fills_keeps_whole_groups(tmp_path, monkeypatch):
    count = writes_of(lambda: write_run(tmp_path / "counted"), monkeypatch)
    assert count == 8
    known = [record.case for group in groups() for record in group]
    for last in range(1, count + 1):
        results = tmp_path / str(last)
        monkeypatch.setattr(atomic.os, "write", FullDisk(last))
        with pytest.raises(MachineError, match=r"cannot be written \(No space left on device\); free space"):
            write_run(results)
        monkeypatch.undo()
        for folder in all_runs(results):
            read = folder.read()
            assert len(read.records) % 2 == 0
            assert [one.case for one in read.records] == known[: len(read.records)]
            assert folder.split()[1] == []
            assert not list(folder.path.glob(".*"))  # no temporary file is left
            folder.append(groups()[len(read.records) // 2 % 3])  # and with room again, it goes on


def test_collecting_on_a_disk_that_fills_is_finished_by_collecting_again(tmp_path, monkeypatch):
    sources = [tmp_path / str(index) for index in (1, 2)]
    for index, source in enumerate(sources, start=1):
        store_shard(source, index)
    count = writes_of(lambda: collect(sources, tmp_path / "counted"), monkeypatch)
    (whole,) = all_runs(tmp_path / "counted")
    for last in range(1, count + 1):
        results = tmp_path / f"all{last}"
        monkeypatch.setattr(atomic.os, "write", FullDisk(last))
        with pytest.raises(MachineError, match="No space left on device"):
            collect(sources, results)
        monkeypatch.undo()
        collect(sources, results)
        (again,) = all_runs(results)
        assert again.read() == whole.read()
