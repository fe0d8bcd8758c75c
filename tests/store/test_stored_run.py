"""The log of a crash, by the name that a record has of it: from its run's own folder alone."""

from harness.store.runs import RunFolder
from harness.store.stored_run import LONGEST_LOG


def test_the_end_of_a_log_is_read_and_no_file_outside(tmp_path):
    run = RunFolder.create(tmp_path, "one", {"schema": 1, "run": "one"})
    (tmp_path / "secret").write_text("secret")
    (run.path / "crashes").mkdir()
    (run.path / "crashes/a.txt").write_text("begin" + "x" * LONGEST_LOG)
    (run.path / "crashes/link.txt").symlink_to(tmp_path / "secret")
    assert run.crash_log("crashes/a.txt") == "x" * LONGEST_LOG
    for name in ("crashes/link.txt", "../../secret", str(tmp_path / "secret"), "crashes/none.txt", ""):
        assert run.crash_log(name) == ""
