"""Old runs are deleted; whatever is not plainly one of them stays."""

import pytest

from harness.core.errors import MachineError, UsageError
from harness.store.find import all_runs
from harness.store.prune import prune
from harness.store.runs import RunFolder, run_lock

IDS = [f"2026112{day}T080000Z-aaaaaaa" for day in range(5)]


@pytest.fixture
def results(tmp_path):
    for run in IDS:
        folder = RunFolder.create(tmp_path / "results", run, {"run": run})
        (folder.path / "crashes").mkdir()
        (folder.path / "crashes" / "one.txt").write_bytes(b"x" * 1000)
    return tmp_path / "results"


def ids(results):
    return [run.id for run in all_runs(results)]


def test_prune_keeps_the_newest_and_reports_sizes(results):
    gone = list(prune(results, 2, dry_run=False))
    assert ids(results) == IDS[3:]
    assert [run.path for run in gone] == [str(results / "runs" / run) for run in IDS[:3]]
    assert all(1000 < run.bytes < 10_000 and not run.left for run in gone)
    assert not (results / "runs" / IDS[0]).exists()


def test_dry_run_reports_the_same_and_deletes_nothing(results):
    before = sorted(results.rglob("*"))
    rehearsed = list(prune(results, 2, dry_run=True))
    assert sorted(results.rglob("*")) == before
    assert list(prune(results, 2, dry_run=False)) == rehearsed


@pytest.mark.parametrize("dry_run", [True, False])
def test_prune_keeps_a_run_being_written(results, dry_run):
    with run_lock(results / "runs" / IDS[0], "seqsweep run mask", print):
        first, *_ = prune(results, 3, dry_run=dry_run)
    assert "being written by process" in first.left
    assert "seqsweep run mask" in first.left
    assert (results / "runs" / IDS[0] / "run.json").is_file()


def test_prune_keeps_renamed_folders(results):
    (results / "runs" / IDS[0]).rename(results / "runs" / "before-the-rewrite")
    list(prune(results, 2, dry_run=False))
    assert ids(results) == ["before-the-rewrite", *IDS[3:]]


def test_prune_keeps_links_and_their_targets(results, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (results / "runs" / IDS[0]).rename(elsewhere)
    (results / "runs" / IDS[0]).symlink_to(elsewhere)
    (results / "runs" / IDS[1] / "to").symlink_to(elsewhere)
    (deleted,) = prune(results, 3, dry_run=False)
    assert deleted.bytes < 3000, "what a link leads to is not counted"
    assert (elsewhere / "crashes" / "one.txt").is_file()
    assert not (results / "runs" / IDS[1]).exists()


def test_a_linked_folder_of_runs_is_refused(results, tmp_path):
    (results / "runs").rename(tmp_path / "moved")
    (results / "runs").symlink_to(tmp_path / "moved")
    with pytest.raises(UsageError, match="is a link; use its target"):
        next(prune(results, 1, dry_run=False))


@pytest.mark.parametrize("keep", [0, -1])
def test_keep_must_be_at_least_one(results, keep):
    with pytest.raises(UsageError, match="must be at least 1"):
        next(prune(results, keep, dry_run=False))
    assert len(ids(results)) == 5


def test_what_cannot_be_deleted_is_named(results, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(MachineError, match=f"{IDS[0]}: cannot be deleted .Permission denied."):
        list(prune(results, 3, dry_run=False))
    assert ids(results) == IDS


def test_a_file_system_without_locks_deletes_nothing(results, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("harness.core.file_lock.FileLock.take", refuse)
    with pytest.raises(MachineError, match="cannot be locked"):
        list(prune(results, 3, dry_run=False))
    assert ids(results) == IDS
