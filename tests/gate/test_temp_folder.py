"""A gate's temporary folder: its own while it lives, swept by the next one when it was killed."""

import os

import pytest

from harness.core.errors import MachineError
from harness.gate.sides.temp_folder import LOCK, temp_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_gone_at_the_end(temporary):
    with temp_folder() as folder:
        (folder / "tree").mkdir()
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_living_gates_folder_is_left_alone():
    with temp_folder() as first, temp_folder() as second:
        assert first != second
        assert first.is_dir()


def test_what_a_killed_gate_left_goes_and_nothing_else(temporary):
    for name in ("seqsweep-gate-left", "seqsweep-other", "seqsweep-gate-begun"):
        (temporary / name / "0-work").mkdir(parents=True)
    (temporary / "seqsweep-gate-left" / LOCK).touch()
    with temp_folder():
        assert not (temporary / "seqsweep-gate-left").exists()
        assert (temporary / "seqsweep-other").is_dir()
        assert (temporary / "seqsweep-gate-begun").is_dir()


def test_no_room_is_a_sentence(monkeypatch):
    def refuse(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(MachineError, match="No space left on device"), temp_folder():
        pass
