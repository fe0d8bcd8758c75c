"""A run's folder has one writer: a second one is refused."""

from pathlib import Path

import pytest

from harness.core import file_lock
from harness.core.errors import MachineError
from harness.store.runs import RunFolder
from tests.run.conftest import SessionFixture
from tests.run.fakes import Act, FakeExecutor, Killed


def only_run(execute):
    (path,) = execute.results.glob("runs/*")
    return RunFolder(path)


def test_a_second_resume_with_another_tmpdir_is_refused(execute, monkeypatch):
    execute.until_killed(FakeExecutor(stop=(40, Killed())))
    refusals = []

    def second(_):
        other = SessionFixture(execute.home, monkeypatch, scratch="other")
        other.locks = execute.home / "another TMPDIR"
        other.locks.mkdir(exist_ok=True)
        with pytest.raises(MachineError) as refused:
            other(FakeExecutor(), resume=True)
        refusals.append(refused.value)
        return {}

    done = execute(FakeExecutor({"scatter": Act(verbs={"ready": second})}), resume=True)
    assert str(refusals[0]).startswith(f"run {done.folder.id} is being written by process ")
    assert '("seqsweep run") for ' in str(refusals[0])
    assert refusals[0].exit_code == 5
    assert len(execute.lines()) == len(done.folder.read().records) == 6


def test_run_without_lock_support_continues_with_a_warning(execute, monkeypatch):
    flock = file_lock.fcntl.flock

    def no_locks(descriptor, operation):
        if "run.lock" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(38, "Function not implemented")
        flock(descriptor, operation)

    monkeypatch.setattr(file_lock.fcntl, "flock", no_locks)
    done = execute(FakeExecutor())
    assert len(done.records) == 6
    (sentence,) = execute.heard.messages()
    assert sentence == (
        f"{done.folder.path / 'run.lock'} cannot be locked (Function not implemented); "
        "do not resume this run twice at once"
    )
