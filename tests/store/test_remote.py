"""Runs behind a URL: read from a copy that follows what lies there."""

import json
from pathlib import Path

import fsspec
import pytest

from harness.collection.collection import collect
from harness.commands.options import PlaceFlags, ResultsFlags
from harness.core.errors import MachineError, UsageError
from harness.store.find import all_runs, find
from harness.store.remote import STAMPS, readable
from harness.store.stored_run import RECORDS
from tests.stores import RUNS, store_two_runs


@pytest.fixture(params=["memory", "file"])
def remote(request, tmp_path, monkeypatch):
    """(URL of a folder of results with two runs, the file system that it is in)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = tmp_path / "here"
    store_two_runs(here)
    url = f"memory://{tmp_path.name}/results" if request.param == "memory" else f"file://{tmp_path}/there"
    system, root = fsspec.core.url_to_fs(url)
    system.put(str(here / "runs"), f"{root}/runs", recursive=True)
    return url, system, root


def lines(folder):
    return len(folder.read().records), folder.read().problems


def test_a_folder_of_results_and_a_run_of_it_are_read(remote, tmp_path):
    url, _, _ = remote
    results = ResultsFlags(None, url).project().results
    assert [run.id for run in all_runs(results)] == list(RUNS)
    assert lines(find(results, "latest")) == (4, ())
    run = find(tmp_path / "nothing", f"{url}/runs/{RUNS[0]}")
    assert (run.id, lines(run), len(run.fingerprints())) == (RUNS[0], (2, ()), 1)
    assert collect([readable(url)], tmp_path / "all").copied == RUNS


@pytest.mark.parametrize("stamps", ["{", "[]", '{"runs/x/run.json": 3}'])
def test_a_damaged_list_of_what_was_copied_is_made_anew(remote, tmp_path, stamps):
    url, _, _ = remote
    folder = readable(url)
    (folder.parent / STAMPS).write_text(stamps)
    assert [run.id for run in all_runs(readable(url))] == list(RUNS)
    assert json.loads((folder.parent / STAMPS).read_text()).keys() >= {f"runs/{RUNS[0]}/run.json"}


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(MachineError, match="set HOME or XDG_CACHE_HOME"):
        readable("memory://somewhere")


def homeless():
    raise RuntimeError("Could not determine home directory.")


def test_only_what_has_changed_is_copied_again_and_what_is_gone_goes(remote, monkeypatch):
    url, system, root = remote
    folder = readable(url)
    fetched = []
    copy = type(system).cat_file

    def cat_file(self, path, **more):
        fetched.append(path.removeprefix(f"{root}/runs/"))
        return copy(self, path, **more)

    monkeypatch.setattr(type(system), "cat_file", cat_file)
    assert readable(url) == folder
    assert fetched == []
    last = f"{root}/runs/{RUNS[1]}/{RECORDS}"
    system.pipe_file(last, copy(system, last).splitlines(keepends=True)[0])
    system.rm(f"{root}/runs/{RUNS[0]}", recursive=True)
    assert [run.id for run in all_runs(readable(url))] == [RUNS[1]]
    assert fetched == [f"{RUNS[1]}/{RECORDS}"]


def test_a_name_that_leads_out_of_the_folder_is_not_followed(remote, tmp_path, monkeypatch):
    url, system, root = remote
    honest = type(system).find

    def find_all(self, path, **more):
        return {**honest(self, path, **more), f"{root}/../../{RECORDS}": {"size": 1}}

    monkeypatch.setattr(type(system), "find", find_all)
    readable(url)
    assert not list((tmp_path / "cache").glob(RECORDS))
    assert all(".." not in str(path) for path in (tmp_path / "cache").rglob("*"))


@pytest.mark.parametrize(
    ("url", "says"),
    [("memory://nowhere", "holds no runs"), ("nothing://bucket/runs", "cannot be read .*nothing")],
)
def test_what_cannot_be_read_is_a_sentence(url, says, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=says):
        readable(url)


def test_writing_stays_local():
    for project in (
        PlaceFlags(results="s3://a/b").project,
        lambda: ResultsFlags(None, "s3://a/b").project(writes=True),
    ):
        with pytest.raises(UsageError, match="written to local folders"):
            project()
