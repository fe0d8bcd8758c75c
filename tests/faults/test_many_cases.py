"""Many cases: open files, writes and memory of a run do not grow with finished groups."""

import gc
import os
from collections import Counter
from pathlib import Path

from harness.core.record import Record
from harness.run.case.case_state import CaseState
from tests.run import plans
from tests.run.conftest import SessionFixture
from tests.run.fakes import FakeExecutor

FEW, MANY = 10, 60  # groups, of two cases each


class Looking(FakeExecutor):
    """Counts what lives whenever the first case of a group starts."""

    def __init__(self):
        super().__init__()
        self.lives = []

    def spawn(self, job, limit_bytes):
        if job.role == "case" and job.case.implementation == "mask/broadcast":
            gc.collect()
            things = Counter(type(each) for each in gc.get_objects() if isinstance(each, CaseState | Record))
            descriptors = len(list(Path("/proc/self/fd").iterdir()))
            self.lives.append((things[CaseState], things[Record], descriptors))
        return super().spawn(job, limit_bytes)


def conducted(home, monkeypatch, groups):
    """The number of writes of each file of the run, and the live objects at each group."""
    counts, real_open, real_replace = Counter(), os.open, os.replace
    home.mkdir()

    def opening(path, flags, *rest, **more):
        if flags & (os.O_WRONLY | os.O_RDWR) and not Path(path).name.startswith("."):
            counts[Path(path).name] += 1
        return real_open(path, flags, *rest, **more)

    def replacing(source, target, **more):
        counts[Path(target).name] += 1
        return real_replace(source, target, **more)

    executor = Looking()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opening)
        patch.setattr(os, "replace", replacing)
        schedule = plans.schedule(seqs=range(1, 1 + groups))
        done = SessionFixture(home, monkeypatch)(executor, schedule)
    assert len(done.records) == 2 * groups
    return counts, executor.lives


def test_a_group_is_one_write_and_writes_nothing_else_again(tmp_path, monkeypatch):
    few, _ = conducted(tmp_path / "few", monkeypatch, FEW)
    many, _ = conducted(tmp_path / "many", monkeypatch, MANY)
    assert many - few == {"records.jsonl": MANY - FEW}


def test_nothing_of_a_group_stays_in_memory(tmp_path, monkeypatch):
    _, lives = conducted(tmp_path / "many", monkeypatch, MANY)
    cases, records, descriptors = zip(*lives, strict=True)
    assert set(cases) == {2}
    assert max(records) <= 2
    assert len(set(descriptors)) == 1
