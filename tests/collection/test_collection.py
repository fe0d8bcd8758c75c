"""Collecting: the shards of one sweep become one run, which depends only on them."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.collection.collection import collect
from harness.core.errors import UsageError
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from harness.store.stored_run import CRASHES, RECORDS
from tests.records import PASSED, record_of, timing_of
from tests.stores import FACTS

COUNT = 8
JOINED = "20261120T113000Z-d0b00c7"


def store_shard(results, index, *, second=0, facts=FACTS, version="1", finished=True):
    """One shard of a sweep over 16 lengths: two groups of two cases, the second one of a crash."""
    run = f"20261120T1130{second:02d}Z-{index:07x}"
    groups = [
        [
            record_of("base", seq, timing=timing_of([4.0] * 6), correctness=PASSED, baseline=True),
            record_of("scatter", seq, status="crashed", crash_file=f"{CRASHES}/{index}.txt"),
        ]
        for seq in (1024 * index, 1024 * (index + COUNT))
    ]
    suite = {"family": "mask", "baseline": "mask/base", "implementations": ["mask/base", "mask/scatter"]}
    info = {
        "run": run,
        "command": ["seqsweep", "run", "mask", "--shard", f"{index}/{COUNT}"],
        "depth": "run",
        "version": version,
        "started": f"2026-11-20T11:30:{second:02d}+00:00",
        "finished": f"2026-11-20T12:00:{index:02d}+00:00" if finished else None,
        "suites": {"mask": {**suite, "cases": [record.case for group in groups for record in group]}},
        "shard": {"index": index, "count": COUNT, "sweep": "cafe"},
    }
    folder = RunFolder.create(results, run, info)
    keys = {
        "fingerprint": folder.write_fingerprint(facts),
        "environment": folder.write_environment({"host": f"node{index}"}),
    }
    (folder.path / CRASHES).mkdir()
    (folder.path / CRASHES / f"{index}.txt").write_text(f"crash of {index}")
    for group in groups:
        folder.append([replace(record, run=run, **keys) for record in group])
    return folder


@pytest.fixture
def shards(tmp_path):
    """Eight results folders, each with one shard, the third one begun first."""
    folders = [tmp_path / f"node{index}" for index in range(1, COUNT + 1)]
    for index, folder in enumerate(folders, start=1):
        store_shard(folder, index, second=0 if index == 3 else index)
    return folders


def contents(results):
    """Every file of a results folder but locks, by its path."""
    files = [path for path in (results / "runs").rglob("*") if path.is_file() and path.name != "run.lock"]
    return {str(path.relative_to(results)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "wrong",
    [
        {"shard": {"index": 9, "count": COUNT, "sweep": "cafe"}},
        {"started": "yesterday"},
        {"suites": {"mask": {"family": "mask", "cases": {}}}},
        {"shard": {"index": "1", "count": COUNT, "sweep": "cafe"}},
        {"shards": {"../../etc": {}}},
    ],
    ids=str,
)
def test_a_shard_that_its_run_json_does_not_describe_is_left_out(shards, tmp_path, wrong):
    (path,) = shards[0].glob("runs/*/run.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **wrong}))
    collection = collect(shards, tmp_path / "all")
    assert [run.absent for run in collection.joined] == [(1,)]
    assert any(str(path.parent) in problem for problem in collection.problems)


def test_all_shards_are_one_run_that_reads_as_one(shards, tmp_path):
    collection = collect(shards, tmp_path / "all")
    (folder,) = all_runs(tmp_path / "all")
    stored = folder.read()
    assert [run.absent for run in collection.joined] == [()]
    assert (len(stored.records), stored.problems, collection.problems) == (32, (), ())
    assert stored.info["command"] == ["seqsweep", "run", "mask"]
    assert (stored.info["started"], stored.info["finished"]) == (
        "2026-11-20T11:30:00+00:00",
        "2026-11-20T12:00:08+00:00",
    )
    assert {r.case for r in stored.records} == set(stored.info["suites"]["mask"]["cases"])
    assert len(folder.environments()) == COUNT
    assert {(folder.path / r.crash_file).read_text() for r in stored.records if r.crash_file} == {
        f"crash of {index}" for index in range(1, COUNT + 1)
    }


def test_shards_of_one_sweep_over_two_devices_are_one_run(tmp_path):
    """Each run has the fingerprints of both devices, whichever its own groups ran on."""
    gpu = {**FACTS, "device": "cuda", "gpu": {"name": "H200"}}
    folders = [tmp_path / f"node{index}" for index in range(1, COUNT + 1)]
    for index, folder in enumerate(folders, start=1):
        own, other = (FACTS, gpu) if index % 2 else (gpu, FACTS)
        store_shard(folder, index, second=index, facts=own).write_fingerprint(other)
    assert [run.absent for run in collect(folders, tmp_path / "all").joined] == [()]
    (joined,) = all_runs(tmp_path / "all")
    assert len({record.fingerprint for record in joined.read().records}) == 2
    again = collect(folders, tmp_path / "all")
    assert ([run.absent for run in again.joined], again.problems) == ([()], ())


@pytest.mark.parametrize("seed", range(5))
def test_collection_order_and_repetition_do_not_matter(shards, tmp_path, seed):
    collect(shards, tmp_path / "at once")
    chance = random.Random(seed)
    steps = [*shards, *chance.sample(shards, 4)]
    chance.shuffle(steps)
    while steps:
        size = chance.randint(1, 4)
        collect(steps[:size], tmp_path / "in steps")
        steps = steps[size:]
    assert contents(tmp_path / "in steps") == contents(tmp_path / "at once")
    assert not collect(shards, tmp_path / "at once").changed
    # a collected folder is a source like any other
    collect([tmp_path / "at once"], tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "at once")


def tear(records):
    records.write_bytes(records.read_bytes()[:-40])


def end_early(records):
    """Half of a copy, which ends between two groups."""
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join(lines[: 1 + [b'"append":[2,2]' in line for line in lines].index(True)]))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (tear, "the line is incomplete"),
        (end_early, "shard 5/8: 2 of its cases have no record"),
        (lambda records: RunFolder(records.parent).update_info(finished=None), "5/8: it is not finished"),
        (lambda records: (records.parent / CRASHES / "5.txt").unlink(), "5.txt: cannot be read"),
    ],
)
def test_a_shard_that_is_not_whole_is_left_out_until_it_is(shards, tmp_path, damage, says):
    torn = tmp_path / "torn"
    shutil.copytree(shards[4], torn)
    damage(next((torn / "runs").glob(f"*/{RECORDS}")))
    others = [folder for folder in shards if folder != shards[4]]
    collection = collect([torn, *others], tmp_path / "all")
    assert [run.absent for run in collection.joined] == [(5,)]
    (problem,) = collection.problems
    assert says in problem
    assert problem.endswith("copy it again, or finish it where it was measured with --resume")
    (folder,) = all_runs(tmp_path / "all")
    assert (len(folder.read().records), folder.info["finished"]) == (28, None)
    collect(shards, tmp_path / "all")
    collect(shards, tmp_path / "healthy")
    assert contents(tmp_path / "all") == contents(tmp_path / "healthy")


def test_damaged_joined_run_is_not_overwritten_or_deleted(shards, tmp_path):
    collect(shards, tmp_path / "all")
    tear(tmp_path / "all/runs" / JOINED / RECORDS)
    before = contents(tmp_path / "all")
    with pytest.raises(UsageError, match=rf"{JOINED}: line .*delete this folder, and collect all"):
        collect(shards, tmp_path / "all")
    assert contents(tmp_path / "all") == before


def test_other_machines_versions_and_repetitions_are_separate_runs(tmp_path):
    for name, index, more in (
        ("a", 1, {}),
        ("b", 2, {"facts": {**FACTS, "threads": 1}}),  # by suite, of the same machine
        ("c", 2, {"facts": {**FACTS, "cpu": "Other Processor"}, "second": 1}),
        ("d", 1, {"version": "2", "second": 2}),
        ("e", 1, {"second": 3}),
    ):
        store_shard(tmp_path / name, index, **more)
    joined = collect([tmp_path / name for name in "abcde"], tmp_path / "all").joined
    assert sorted([piece.run for piece in run.pieces] for run in joined) == [
        ["20261120T113000Z-0000001", "20261120T113000Z-0000002"],
        ["20261120T113001Z-0000002"],
        ["20261120T113002Z-0000001"],
        ["20261120T113003Z-0000001"],
    ]


def test_a_repository_of_stores_is_one_source(shards, tmp_path):
    (tmp_path / "stores").mkdir()
    for shard in shards:
        shard.rename(tmp_path / "stores" / shard.name)
    assert collect([tmp_path / "stores"], tmp_path / "all").joined[0].absent == ()


def whole_run(results, run="20261120T113000Z-aaaaaaa", count=2):
    folder = RunFolder.create(results, run, {"suites": {}})
    for seq in range(1, count + 1):
        folder.append([record_of("base", 1024 * seq, run=run, timing=timing_of([1.0]), correctness=PASSED)])
    return folder


def test_a_whole_run_is_copied_once(tmp_path):
    whole_run(tmp_path / "theirs")
    assert collect([tmp_path / "theirs"], tmp_path / "all").copied
    again = collect([tmp_path / "theirs"], tmp_path / "all")
    assert (again.copied, again.changed, again.problems) == ((), False, ())
    assert len(all_runs(tmp_path / "all")[0].read().records) == 2


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(UsageError, match="has no runs"):
        collect([tmp_path], tmp_path / "all")
    with pytest.raises(UsageError, match="has no runs"):
        collect([Path("/nowhere")], tmp_path / "all")


def test_collecting_that_was_killed_before_run_json_is_finished_by_the_next(tmp_path):
    source, results = tmp_path / "theirs", tmp_path / "ours"
    folder = store_shard(source, 1)
    info = {key: value for key, value in folder.info.items() if key != "shard"}
    folder.write_info(info)
    collect([source], results)
    (results / "runs" / folder.id / "run.json").unlink()
    collect([source], results)
    assert all_runs(results)[0].info == info
    assert collect([source], results).copied == ()
