"""Processes where the machine refuses to start any."""

import tempfile

import pytest

from harness.core.errors import MachineError
from harness.run.processes.output_log import Log
from harness.run.processes.worker_process import Processes

FULL = OSError(28, "No space left on device")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def refuse(*_, **__):
    raise FULL


def test_without_a_folder_nothing_starts(scratch, monkeypatch):
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(MachineError, match=f"below {scratch} .No space left on device.; .* set TMPDIR"):
        Processes(["numpy"], "cpu")


def test_a_server_that_cannot_be_started_leaves_nothing(scratch, monkeypatch):
    monkeypatch.setattr(Log, "open", refuse)
    with pytest.raises(MachineError, match="no process can be started below"):
        Processes(["numpy"], "cpu")
    assert list(scratch.iterdir()) == []
