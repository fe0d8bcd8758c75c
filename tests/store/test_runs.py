import os
from datetime import UTC, datetime, timedelta, timezone

import pytest

from harness.core.errors import MachineError, UsageError
from harness.store import atomic
from harness.store.runs import DAMAGED, WITHDRAWN, RunFolder, new_run_id
from harness.store.stored_run import INFO, RECORDS

MOVED = "moved to records.damaged.jsonl, to be measured again"


def test_run_ids_sort_by_time():
    moment = datetime(2026, 11, 20, 11, 30, tzinfo=UTC)
    first = new_run_id(moment, "a")
    assert first.startswith("20261120T113000Z-")
    assert (
        new_run_id(moment, "b") != first == new_run_id(moment.astimezone(timezone(timedelta(hours=5))), "a")
    )


def test_a_new_id_is_greater_than_all_there_are():
    moment = datetime(2026, 11, 20, 11, 30, tzinfo=UTC)
    newest = new_run_id(moment, "a")
    back = new_run_id(moment - timedelta(days=400), "b", [newest, "20250101T000000Z-0000000", "kept"])
    assert back.startswith("20261120T113001Z-")
    assert new_run_id(moment, "c", [newest]).startswith("20261120T113001Z-"), "in the same second"
    later = new_run_id(moment + timedelta(days=1), "d", [newest, back])
    assert later.startswith("20261121T113000Z-")


def test_a_new_run_makes_its_folders(tmp_path):
    folder = RunFolder.create(tmp_path / "deep" / "results", "one", {"schema": 1})
    assert folder.path == tmp_path / "deep" / "results" / "runs" / "one"
    assert folder.id == "one"
    assert sorted(path.name for path in folder.path.iterdir()) == [RECORDS, INFO]
    stored = RunFolder(folder.path).read()
    assert (stored.info, stored.records, stored.problems) == ({"schema": 1}, (), ())


def test_a_run_is_never_written_over(tmp_path):
    RunFolder.create(tmp_path, "one", {})
    with pytest.raises(MachineError, match="File exists"):
        RunFolder.create(tmp_path, "one", {})


def test_run_json_changes_as_a_whole(folder):
    folder.update_info(finished="now", replicates=2)
    assert folder.info == {"schema": 1, "run": folder.id, "finished": "now", "replicates": 2}
    assert not list(folder.path.glob(".run.json*"))


def test_fingerprints_and_environments_are_kept_once_by_hash(folder):
    one = folder.write_fingerprint({"device": "cpu", "threads": 2})
    same = folder.write_fingerprint({"threads": 2, "device": "cpu"})
    other = folder.write_fingerprint({"device": "cpu", "threads": 1})
    assert one == same != other
    assert one.startswith("sha256:")
    assert folder.fingerprints() == {
        one: {"device": "cpu", "threads": 2},
        other: {"device": "cpu", "threads": 1},
    }
    assert folder.environments() == {}
    load = folder.write_environment({"load": [0.5]})
    assert folder.environments() == {load: {"load": [0.5]}}


def test_ctrl_c_between_two_writes_removes_the_group(folder, record, monkeypatch):
    write = os.write

    def interrupted(descriptor, data):
        write(descriptor, data[:50])
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folder.append([record(1)])
    assert (folder.path / RECORDS).read_bytes() == b""


# Damage


def test_every_cut_of_the_last_append_keeps_all_before_it(folder, record, monkeypatch):
    monkeypatch.setattr(atomic.os, "fsync", lambda _: None)  # thousands of cuts; the disk is not the subject
    path = folder.path / RECORDS
    one, two, three, four = (
        record(seq, timing=None, static={}, status="skipped", reason="brief") for seq in (1, 2, 3, 4)
    )
    folder.append([one, two])
    kept = path.read_bytes()
    folder.append([three, four])
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    ends = [len(b"".join(lines[: n + 1])) for n, line in enumerate(lines) if b'"append"' in line]
    for end in range(len(kept), len(whole)):
        path.write_bytes(whole[:end])
        (folder.path / DAMAGED).unlink(missing_ok=True)

        readable = [one.seq for one in folder.read().records]
        complete = sum(1 for line_end in ends if line_end - 1 <= end)
        assert readable == [1, 2, 3, 4][:complete]

        problems = folder.repair()
        after = [one.seq for one in folder.read().records]
        if complete == 4:  # only the last newline is missing
            assert (after, problems, path.read_bytes()) == ([1, 2, 3, 4], (), whole)
            continue
        assert after == [1, 2]
        assert path.read_bytes().startswith(kept)
        assert b"append" not in path.read_bytes().removeprefix(kept)
        if b"append" in whole[len(kept) : end]:
            assert problems
            assert whole[:end].rstrip(b"\n").endswith((folder.path / DAMAGED).read_bytes().rstrip(b"\n"))
        folder.append([three, four])
        assert [one.seq for one in folder.read().records] == [1, 2, 3, 4]
        assert folder.read().problems == ()


def test_incomplete_line_is_a_problem_with_its_number(folder, record):
    folder.append([record(1)])
    with (folder.path / RECORDS).open("ab") as file:
        file.write(b'{"schema": 1, "ru')
    stored = folder.read()
    assert [one.seq for one in stored.records] == [1]
    assert stored.problems == (
        "records.jsonl:2: the line is incomplete or not JSON; run --resume measures its case again",
    )
    with pytest.raises(MachineError, match="run --resume"):
        RunFolder(folder.path).append([record(2)])
    assert folder.repair() == (f"records.jsonl:2: the line is incomplete or not JSON; {MOVED}",)
    folder.append([record(2)])
    assert [one.seq for one in folder.read().records] == [1, 2]


def test_repair_moves_a_damaged_group(folder, record):
    folder.append([record(1)])
    folder.append([record(2), record(3), record(4)])
    folder.append([record(5)])
    path = folder.path / RECORDS
    lines = path.read_bytes().splitlines(keepends=True)
    second, third, fourth = (n for n, line in enumerate(lines) if b",3]," in line)
    lines[third] = lines[third].replace(b'"wall_s":0.8', b'"wall_s":0.9')
    path.write_bytes(b"".join(lines))

    stored = folder.read()
    assert [one.seq for one in stored.records] == [1, 2, 4, 5]
    assert [problem.split(":")[1] for problem in stored.problems] == [str(third + 1)]
    assert "checksum does not match" in stored.problems[0]

    incomplete = f"its group is incomplete; {MOVED}"
    assert [problem.split(": ")[:2] for problem in folder.repair()] == [
        [f"records.jsonl:{second + 1}", incomplete],
        [
            f"records.jsonl:{third + 1}",
            f"the checksum does not match, because the line was damaged or edited; {MOVED}",
        ],
        [f"records.jsonl:{fourth + 1}", incomplete],
    ]
    assert [one.seq for one in folder.read().records] == [1, 5]
    assert (folder.path / DAMAGED).read_bytes() == b"".join(lines[n] for n in (second, third, fourth))
    assert folder.repair() == ()


def path_lines(folder):
    return (folder.path / RECORDS).read_bytes().splitlines()


def test_a_record_stored_twice_counts_once(folder, record):
    folder.append([record(1, wall_s=1.0)])
    folder.append([record(1, wall_s=2.0), record(1, replicate=1), record(1, side="base")])
    stored = folder.read()
    found = [(one.replicate, one.side, one.wall_s) for one in stored.records]
    assert found == [(0, None, 1.0), (1, None, 0.8), (0, "base", 0.8)]
    twice = next(n for n, line in enumerate(path_lines(folder), start=1) if b'"wall_s":2.0' in line)
    case = record(1).case
    assert stored.problems == (f"records.jsonl:{twice}: {case} is stored twice; the first one is used",)


def test_a_crash_is_kept_in_a_file_of_its_own(folder, record):
    one, other = record(256).as_case, record(512).as_case
    kept = [
        folder.write_crash(case, replicate, f"{case.id} fell")
        for case in (one, other)
        for replicate in (0, 1)
    ]
    assert len(set(kept)) == 4
    assert all(name.startswith("crashes/mask-scatter-") for name in kept)
    assert (folder.path / kept[0]).read_text() == f"{one.id} fell"
    assert folder.write_crash(one, 0, "again") == kept[0]
    assert (folder.path / kept[0]).read_text() == "again"


@pytest.mark.parametrize("name", [RECORDS, INFO])
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_has_no_end_is_not_read(folder, name, kind):
    """A FIFO would be waited for, and a device read until memory ends: `show` would hang."""
    (folder.path / name).unlink()
    if kind == "fifo":
        os.mkfifo(folder.path / name)
    else:
        (folder.path / name).symlink_to("/dev/zero")
    with pytest.raises((MachineError, UsageError), match=r"cannot be read \(it is not a regular file\)"):
        _ = (folder.info, folder.read())


def test_withdrawn_records_move_and_the_rest_is_unchanged(folder, record):
    folder.append([record(seq=1024), record(seq=1024, name="broadcast")])
    before = (folder.path / RECORDS).read_bytes()
    last, added = [record(seq=2048), record(seq=2048, name="broadcast")], b""
    for _ in range(2):
        folder.append(last)
        added += (folder.path / RECORDS).read_bytes().removeprefix(before)
        folder.withdraw({one.key[:2] for one in last})
        assert (folder.path / RECORDS).read_bytes() == before
        assert (folder.path / WITHDRAWN).read_bytes() == added
    folder.append(last)
    assert (len(folder.read().records), folder.read().problems, folder.repair()) == (4, (), ())
