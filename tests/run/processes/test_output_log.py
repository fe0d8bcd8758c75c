"""Endless output of a worker does not fill the disk, and its end is kept."""

import pytest

from harness.run.processes import output_log as module
from harness.run.processes.output_log import Log, crash_output


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LIMIT_BYTES", 100)
    return Log(tmp_path / "worker.log")


def test_long_log_is_truncated_and_continued(log):
    with log.open() as file:
        file.write(b"x" * 101)
        file.flush()
        log.cut()
        assert log.path.stat().st_size == 0
        file.write(b"last words")
    assert log.tail() == "last words"
    assert log.path.stat().st_blocks <= 8


def test_removed_log_is_not_an_error(log):
    log.cut()
    log.remove()
    assert log.tail() == ""
    assert module.last_line(log.tail()) == "no output"


def test_a_crash_has_its_traceback_and_what_was_printed(log):
    log.path.write_text("about to fail\n")
    assert crash_output(log, "ValueError: no") == "Raised:\n\nValueError: no\n\nPrinted:\n\nabout to fail\n"
    log.remove()
    assert crash_output(log) == "Printed:\n\nnothing\n"
