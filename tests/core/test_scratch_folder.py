"""A scratch folder: its own while its owner lives, removed by the next command when that was killed."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.errors import MachineError
from harness.core.file_lock import FileLock, holder_of
from harness.core.scratch_folder import LOCK, ScratchFolder, temporary_root

OWNER = """\
from harness.core.scratch_folder import ScratchFolder
print((kept := ScratchFolder()).path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_gone_at_the_end(temporary):
    with ScratchFolder("gate-") as path:
        (path / "tree").mkdir()
        assert path.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_living_owners_folder_is_left_alone():
    with ScratchFolder("gate-") as first, ScratchFolder() as second, ScratchFolder():
        assert len({first, second}) == 2
        assert holder_of(first / LOCK).pid == os.getpid()
        assert first.is_dir()
        assert second.is_dir()


def test_what_a_killed_owner_left_is_removed_by_the_next(temporary):
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


def test_a_filesystem_without_locks_has_folders_that_nobody_removes(temporary, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(FileLock, "take", refuse)
    with ScratchFolder() as first, ScratchFolder():
        assert first.is_dir()
    assert list(temporary.iterdir()) == []


def test_no_room_is_a_sentence(monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(MachineError, match="No space left on device"), ScratchFolder():
        pass


def test_no_folder_for_temporary_files_is_a_sentence(temporary, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(temporary / "missing")])
    with pytest.raises(MachineError, match=r"no folder takes temporary files; .* TMPDIR"):
        temporary_root()
