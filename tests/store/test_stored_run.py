"""Reading a run's folder: records, gzipped or not, and only the logs of its crashes."""

import gzip

import pytest

from harness.core.errors import MachineError
from harness.store.find import find
from harness.store.runs import RunFolder
from harness.store.stored_run import GZIPPED, LONGEST_LOG, RECORDS


def test_the_end_of_a_log_is_read_and_no_file_outside(tmp_path):
    run = RunFolder.create(tmp_path, "one", {"schema": 1, "run": "one"})
    (tmp_path / "secret").write_text("secret")
    (run.path / "crashes").mkdir()
    (run.path / "crashes/a.txt").write_text("begin" + "x" * LONGEST_LOG)
    (run.path / "crashes/link.txt").symlink_to(tmp_path / "secret")
    assert run.crash_log("crashes/a.txt") == "x" * LONGEST_LOG
    for name in ("crashes/link.txt", "../../secret", str(tmp_path / "secret"), "crashes/none.txt", ""):
        assert run.crash_log(name) == ""


def test_gzipped_records_are_read_and_not_written(folder, record):
    folder.append([record(1), record(2)])
    path, packed = folder.path / RECORDS, folder.path / GZIPPED
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert folder.read().records == (record(1), record(2))
    assert find(folder.results, str(packed)).path == folder.path
    with (
        pytest.raises(MachineError, match=r"records\.jsonl\.gz is read-only; gunzip it"),
        folder.writing("", print),
    ):
        raise AssertionError("it must not be written")
    for broken in (packed.read_bytes()[:-20], b"no gzip", packed.read_bytes()[:30] + b"\xff" * 40):
        packed.write_bytes(broken)
        with pytest.raises(
            MachineError, match=r"records\.jsonl\.gz: cannot be read \(.+\); name another run"
        ):
            folder.read()
