import pytest

from harness.core.errors import MachineError, UsageError
from harness.store.find import all_runs, find, local_folder
from harness.store.runs import RunFolder

IDS = ("20261120T113000Z-aaaaaaa", "20261120T113000Z-bbbbbbb", "20261121T080000Z-ccccccc")


@pytest.fixture
def results(tmp_path):
    for run in (IDS[2], IDS[0], IDS[1]):
        RunFolder.create(tmp_path / "results", run, {"run": run})
    (tmp_path / "results" / "runs" / "99999999-not-a-run").mkdir()
    return tmp_path / "results"


def test_runs_are_listed_by_time(results):
    assert [run.id for run in all_runs(results)] == list(IDS)


def test_unreadable_runs_folder_is_one_sentence(tmp_path):
    with pytest.raises(
        MachineError, match=r"runs: cannot be read \(File name too long\); use another folder"
    ):
        all_runs(tmp_path / ("a" * 300))


FOUND = {
    "latest": IDS[2], "latest~0": IDS[2], "latest~1": IDS[1], "latest~2": IDS[0], IDS[0]: IDS[0],
    "20261121": IDS[2], "20261120T113000Z-b": IDS[1],
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), FOUND.items())
def test_names_of_a_run(results, name, expected):
    assert find(results, name).id == expected


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("latest~3", r"^latest~3: the oldest run in .*runs is latest~2;"),
        ("latest~one", 'no run "latest~one"'),
        ("20261120", f"is a prefix of 2 runs; write more characters: {IDS[0]}, {IDS[1]}"),
        ("20261121T080000Z-cccccce", f'no run "20261121T080000Z-cccccce".*nearest: "{IDS[2]}"'),
        ("", 'no run ""'),
    ],
)
def test_unknown_run_names_are_refused(results, name, says):
    with pytest.raises(UsageError, match=says):
        find(results, name)


def test_paths_of_a_run(results, tmp_path, monkeypatch):
    kept = results / "reference"
    (results / "runs" / IDS[0]).rename(kept)
    assert find(results, str(kept)).path == kept
    assert find(results, str(kept / "records.jsonl")).path == kept
    monkeypatch.chdir(results)
    assert find(results, "reference").path == kept
    assert find(tmp_path / "elsewhere", "reference").path == kept


def test_without_runs_the_remedy_is_to_make_one(tmp_path):
    for name in ("latest", "20261120"):
        with pytest.raises(UsageError, match=r"no runs in .*; start one with: seqsweep run"):
            find(tmp_path / "none", name)


def test_renamed_folder_is_not_the_latest(results):
    RunFolder.create(results, "kept-for-later", {})
    assert find(results).id == IDS[2]
    assert find(results, "kept").id == "kept-for-later"


def test_a_url_is_refused_with_what_to_do():
    with pytest.raises(UsageError, match="s3://a/b: runs must be in local folders; copy them"):
        local_folder("s3://a/b")
