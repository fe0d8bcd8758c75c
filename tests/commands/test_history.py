"""`runs CASE`: medians of a case run after run on one machine."""

import pytest

from harness.analysis.history import read_histories
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


def test_times_by_another_clock_have_no_ratio(tmp_path):
    for run, method in zip(RUNS, ("wall", "cuda_events", "cuda_events"), strict=False):
        store(tmp_path, run, [timed(1.0, method=method)])
    (history,) = read_histories(tmp_path, [CASE], print)
    assert [m.ratio.value for m in history.medians] == [None, None, 1.0]
    assert history.medians[1].ratio.reason == "timed by cuda_events, the previous run by wall"


def test_unreadable_runs_are_reported_and_left_out(results):
    records = results / "runs" / RUNS[3] / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-20])
    told = []
    read_histories(results, [CASE], told.append)
    last = len(records.read_bytes().splitlines())
    assert any(f"records.jsonl:{last}: " in line and RUNS[3] in line for line in told)
