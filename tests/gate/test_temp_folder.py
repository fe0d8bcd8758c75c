"""A gate's temporary folder: its own while it lives, swept by the next one when it was killed."""

import os

import pytest

from harness.core.errors import MachineError
from harness.gate.sides.temp_folder import locked_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_gone_at_the_end(temporary):
    with locked_folder() as folder:
        (folder / "tree").mkdir()
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_living_gates_folder_is_left_alone():
    with locked_folder() as first, locked_folder() as second:
        assert first != second
        assert first.is_dir()


def test_what_a_killed_gate_left_goes_and_nothing_else(temporary):
    (temporary / "seqsweep-gate-left" / "0-work").mkdir(parents=True)
    (temporary / "seqsweep-other").mkdir()
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (temporary / "seqsweep-gate-link").symlink_to(elsewhere)
    with locked_folder():
        assert not (temporary / "seqsweep-gate-left").exists()
        assert (temporary / "seqsweep-other").is_dir()
        assert elsewhere.is_dir()


def test_a_folder_swept_before_it_was_locked_is_made_again(temporary, monkeypatch):
    import tempfile

    made = []

    def make(prefix):
        made.append(temporary / f"{prefix}{len(made)}")
        if len(made) > 1:  # the first is gone when it is opened
            made[-1].mkdir()
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", make)
    with locked_folder() as folder:
        assert folder == made[1]


def test_a_folder_that_no_import_path_can_name_is_refused(temporary, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "gettempdir", lambda: f"{temporary}{os.pathsep}x")
    with pytest.raises(MachineError, match="set TMPDIR"), locked_folder():
        pass


def test_no_room_is_a_sentence(monkeypatch):
    import tempfile

    def refuse(prefix):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(MachineError, match="No space left on device"), locked_folder():
        pass
