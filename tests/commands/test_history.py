"""`runs CASE`: medians of a case run after run on one machine."""

import json

import pytest

from harness.analysis.history import read_histories
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from tests.records import PASSED, record_of, timing_of
from tests.stores import FACTS, store

RUNS = [f"2026112{day}T113000Z-aaaaaaa" for day in range(4)]
CASE = "mask/a@batch=1,dtype=f32,seq=4096:fwd:cpu"


def timed(seconds, rounds=6, **more):
    timing = timing_of([seconds] * rounds, **more)
    return record_of("a", 4096, timing=timing, correctness=PASSED, started="2026-11-20T11:30:00Z")


@pytest.fixture
def results(tmp_path):
    """1 s on another machine; then 2 s, out of memory, and 3 s."""
    store(tmp_path, RUNS[0], [timed(1.0)], facts={**FACTS, "threads": 4})
    store(tmp_path, RUNS[1], [timed(2.0), record_of("compiled", 1)], commit="aaaaaaaa1")
    store(tmp_path, RUNS[2], [record_of("a", 4096, status="oom", reason="plans 33 GiB")])
    store(tmp_path, RUNS[3], [timed(3.0), record_of("b", 1, timing=timing_of([1.0]), correctness=PASSED)])
    return tmp_path


def test_medians_are_of_the_newest_machine_beside_the_one_before(results):
    told = []
    (history,) = read_histories(results, ["mask/a@*"], told.append)
    assert [(m.run, m.time.value, m.status) for m in history.medians] == [
        (RUNS[1], 2.0, "ok"),
        (RUNS[2], None, "oom"),
        (RUNS[3], 3.0, "ok"),
    ]
    assert [m.ratio.value for m in history.medians] == [None, None, 1.5]
    assert history.medians[0].commit == "aaaaaaa+"
    assert history.left_out == {RUNS[0]: "threads (4, 2)"}
    assert told == []


def test_times_by_another_clock_have_no_ratio(tmp_path):
    for run, method in zip(RUNS, ("wall", "cuda_events", "cuda_events"), strict=False):
        store(tmp_path, run, [timed(1.0, method=method)])
    (history,) = read_histories(tmp_path, [CASE], print)
    assert [m.ratio.value for m in history.medians] == [None, None, 1.0]
    assert history.medians[1].ratio.reason == "timed by cuda_events, the run before by wall"


def test_the_table_is_headed_as_a_trend(results, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert call_app(app, ["runs", CASE, "--results", str(results)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a trend, not a verdict: ")
    lines = [line for line in out.splitlines() if "2026112" in line]
    assert [line.split()[0] for line in lines[:3]] == RUNS[1:]
    assert "1.500× [1.500, 1.500]" in lines[2]
    assert f"1 run, {RUNS[0]}: left out, of another fingerprint: threads (4, 2)" in out
    assert "plans 33 GiB" in out


def test_json_has_every_figure(results, capsys):
    assert call_app(app, ["runs", CASE, "--json", "--results", str(results)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["trend"] is True
    (case,) = data["cases"]
    assert case["medians"][2]["ratio"][0] == 1.5


def test_what_cannot_be_read_is_told_and_left_out(results):
    records = results / "runs" / RUNS[3] / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-20])
    told = []
    read_histories(results, [CASE], told.append)
    last = len(records.read_bytes().splitlines())
    assert any(f"records.jsonl:{last}: " in line and RUNS[3] in line for line in told)
