"""What happens around a run: its folder moved or read-only, TMPDIR gone or full, the clock set back.

Each ends with one sentence and a documented exit code, and nothing is lost.
"""

import errno
import os
import shutil
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.core.errors import MachineError
from harness.run import session
from harness.run.case import case_state
from harness.run.processes.worker_process import Processes
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from tests.run.fakes import Act, FakeExecutor, acting, at

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CASES = 6  # of the scripted schedule, in three groups


class ReadOnly:
    """Prevents writing in a folder, like a read-only mount, also for root."""

    def __init__(self, monkeypatch, folder):
        self.folder, self.monkeypatch = str(folder), monkeypatch

    def begin(self):
        for name in ("open", "mkdir", "rename", "replace", "unlink", "truncate"):
            self.monkeypatch.setattr(os, name, self.refusing(name, getattr(os, name)))

    def refusing(self, name, call):
        def act(path, *rest, **more):
            writes = name != "open" or (rest[0] if rest else more["flags"]) & WRITES
            if writes and not isinstance(path, int) and os.fspath(path).startswith(self.folder):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))
            return call(path, *rest, **more)

        return act


def resumed(execute):
    """The records of the only run, once it has been gone on with to its end."""
    done = execute(FakeExecutor(), resume=True)
    assert done.folder.info["finished"]
    (run,) = all_runs(execute.results)
    read = run.read()
    assert read.problems == ()
    assert len({record.case for record in read.records}) == len(read.records) == CASES


def test_read_only_results_fail_before_measuring(execute, monkeypatch):
    executor = FakeExecutor()
    execute.results.mkdir()
    with monkeypatch.context() as patch:
        ReadOnly(patch, execute.results).begin()
        with pytest.raises(MachineError, match=r"cannot be written \(Read-only file system\); .* --results"):
            execute(executor)
    assert (executor.asked, executor.closed) == ([], True)
    assert list(execute.results.iterdir()) == []


@pytest.mark.parametrize("seq", [1024, 2048, 4096])
def test_results_that_become_read_only_keep_what_was_measured(execute, monkeypatch, seq):
    patch = pytest.MonkeyPatch()

    def remount(_):
        ReadOnly(patch, execute.results).begin()
        return {}

    with pytest.raises(MachineError, match="Read-only file system") as refused:
        execute(FakeExecutor({"scatter": Act(seq={seq: Act(verbs={"check": remount})})}))
    patch.undo()
    assert refused.value.exit_code == 5
    (run,) = all_runs(execute.results)
    assert len(run.read().records) == {1024: 0, 2048: 2, 4096: 4}[seq]
    resumed(execute)


@pytest.mark.parametrize("seq", [1024, 4096])
def test_moved_run_folder_is_an_error_and_resumable(execute, seq):
    def move(_):
        (path,) = execute.results.glob("runs/*")
        path.rename(execute.home / path.name)
        return {}

    executor = FakeExecutor({"scatter": Act(seq={seq: Act(verbs={"check": move})})})
    with pytest.raises(MachineError) as refused:
        execute(executor)
    (moved,) = execute.home.glob("*Z-*")
    assert str(refused.value) == (
        f"{execute.results / 'runs' / moved.name} was moved or removed while it was written; "
        "move it back, and continue with run --resume"
    )
    assert executor.closed
    assert len(RunFolder(moved).read().records) == {1024: 0, 2048: 2, 4096: 4}[seq]
    assert not list(Path(execute.results).glob("runs/*")), "nothing is made in its place"
    moved.rename(execute.results / "runs" / moved.name)
    resumed(execute)


FULL = MachineError("/tmp/x (below TMPDIR) cannot take 64 KiB of arrays; free space there")


@pytest.mark.parametrize(
    ("acts", "reference", "kept"),
    [
        ({}, Act(verbs={"inputs": at(2, FULL)}), 2),
        ({}, Act(verbs={"reference": at(2, FULL)}), 2),
        ({"scatter": acting("check", FULL)}, None, 0),
        ({"scatter": Act(seq={2048: acting("judged", FULL)})}, None, 4),  # with its readings
    ],
)
def test_full_tmpdir_keeps_measured_cases_and_crashes_none(execute, acts, reference, kept):
    executor = FakeExecutor(acts, reference)
    with pytest.raises(MachineError, match="below TMPDIR"):
        execute(executor)
    assert (executor.living, list(execute.scratch.iterdir())) == ([], [])
    (run,) = all_runs(execute.results)
    assert [record.status for record in run.read().records] == ["ok"] * kept
    resumed(execute)


class WallClock(datetime):
    """A wall clock that a test sets; sampling uses a monotonic clock, which cannot be set back."""

    at = datetime(2026, 11, 20, 12, tzinfo=UTC)

    @classmethod
    def now(cls, tz=None):
        return cls.at.astimezone(tz)


@pytest.mark.parametrize("back", [timedelta(hours=1), timedelta(days=9000)])
def test_a_clock_that_is_set_back_changes_nothing_that_was_measured(execute, monkeypatch, back):
    for module in (session, case_state):
        monkeypatch.setattr(module, "datetime", WallClock)
    monkeypatch.setattr(WallClock, "at", WallClock.at)
    usual = execute(FakeExecutor())

    def set_back(_):
        WallClock.at -= back
        return {}

    again = execute(FakeExecutor({"scatter": Act(seq={2048: Act(verbs={"check": set_back})})}))
    assert [run.id for run in all_runs(execute.results)] == [usual.folder.id, again.folder.id], "the newest"
    assert again.folder.read().problems == ()
    timings = [{r.case: r.timing for r in done.folder.read().records} for done in (usual, again)]
    assert timings[0] == timings[1]
    assert all(record.wall_s >= 0 for record in again.folder.read().records)
    assert again.folder.info["finished"] < again.folder.info["started"], "as the clock said"
    after = execute(FakeExecutor())
    assert all_runs(execute.results)[-1].id == after.folder.id


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """TMPDIR as Python knows it, for this process."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_no_writable_tmpdir_starts_nothing(temporary, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(temporary / "missing")])
    with pytest.raises(MachineError, match="no folder for temporary files is writable; free space"):
        Processes(["numpy"], "cpu")


def test_removed_tmpdir_is_one_sentence(temporary):
    with closing(Processes([], "cpu")) as processes:
        shutil.rmtree(temporary)
        with pytest.raises(MachineError, match=f"in {temporary}/.* .No such file.*; .* set TMPDIR"):
            processes.spawn(SimpleNamespace(framework="numpy"), 1 << 30)
