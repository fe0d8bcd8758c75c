"""A scratch folder: its own while its owner lives, removed by the next command when that was killed."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.errors import MachineError
from harness.core.file_lock import FileLock, holder_of
from harness.core.scratch_folder import LOCK, ScratchFolder, shared_folder

OWNER = """\
from harness.core.scratch_folder import ScratchFolder
print((kept := ScratchFolder()).path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_scratch_folder_is_deleted_at_the_end(temporary):
    with ScratchFolder("gate-") as path:
        (path / "tree").mkdir()
        assert path.parent == temporary
    assert list(temporary.iterdir()) == []


def test_folder_of_a_live_owner_is_kept():
    with ScratchFolder("gate-") as first, ScratchFolder() as second, ScratchFolder():
        assert len({first, second}) == 2
        assert holder_of(first / LOCK).pid == os.getpid()
        assert first.is_dir()
        assert second.is_dir()


def test_folder_of_a_killed_owner_is_removed(temporary):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    left = Path(owner.stdout.readline().strip())
    with ScratchFolder():
        assert left.is_dir(), "its owner lives"
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert left.is_dir()
    with ScratchFolder() as path:
        assert [path] == list(temporary.iterdir())


def test_nothing_else_is_removed(temporary):
    for name in ("seqsweep-other", "seqsweep-gate-begun", "another-left"):
        (temporary / name / "0-work").mkdir(parents=True)
    (temporary / "another-left" / LOCK).touch()
    with ScratchFolder():
        assert len(list(temporary.iterdir())) == 4


def test_folders_without_locks_are_not_removed(temporary, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(FileLock, "take", refuse)
    with ScratchFolder() as first, ScratchFolder():
        assert first.is_dir()
    assert list(temporary.iterdir()) == []


def test_a_shared_folder_has_one_place_and_takes_no_other_user(temporary):
    assert shared_folder("node") == shared_folder("node") == temporary / f"seqsweep-{os.geteuid()}-node"
    assert stat.S_IMODE(shared_folder("node").stat().st_mode) == 0o700


def plant_a_link(place, monkeypatch):
    (place.parent / "elsewhere").mkdir()
    place.symlink_to(place.parent / "elsewhere")


def plant_a_file(place, monkeypatch):
    place.touch()


def plant_an_open_folder(place, monkeypatch):
    place.mkdir()
    place.chmod(0o777)


def plant_another_users(place, monkeypatch):
    place.mkdir(mode=0o700)
    real = Path.stat
    owner = place.stat().st_uid + 1

    def stat_of(path, **options):
        found = real(path, **options)
        return os.stat_result((*found[:4], owner, *found[5:10])) if path == place else found

    monkeypatch.setattr(Path, "stat", stat_of)


@pytest.mark.parametrize(
    "plant", [plant_a_link, plant_a_file, plant_an_open_folder, plant_another_users], ids=lambda p: p.__name__
)
def test_shared_folder_of_another_user_is_refused(plant, temporary, monkeypatch):
    place = temporary / f"seqsweep-{os.geteuid()}-node"
    plant(place, monkeypatch)
    with pytest.raises(MachineError, match=r"-node cannot be used: .*; remove it, or set TMPDIR"):
        shared_folder("node")
