"""Where launching a call takes longer than computing it, in one sentence of a suite."""

import pytest

from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.record import Record
from harness.report.tables.launch_lines import MOST, launch_lines
from tests.records import PASSED, record_of, timing_of


def timed(name: str, seq: int, device_us: float, latency_us: float | None, **more: float) -> Record:
    known = {} if latency_us is None else {"latency_s": 1e-6 * latency_us, "latency_low_s": 1e-6 * latency_us}
    timing = timing_of([1e-6 * device_us] * 6, **{"method": "cupti", "cache": "flushed", **known, **more})
    return record_of(name, seq, timing=timing, correctness=PASSED, device="cuda")


def suite_of(*records: Record) -> SuiteResults:
    (suite,) = results_of(
        {"suites": {"mask": {"family": "mask", "cases": [r.case for r in records]}}}, records
    )
    return suite


def test_the_longest_length_at_which_it_is_bound_is_told_with_both_figures():
    suite = suite_of(
        timed("dense", 4096, 134, 190), timed("dense", 16384, 1287, 1300), timed("sparse", 4096, 500, 900)
    )
    (line,) = launch_lines(suite)
    assert line == (
        "Launch-bound: dense below 16Ki (at 4Ki 134 µs on the device, 190 µs from call to result); "
        "sparse up to 4Ki (at 4Ki 500 µs on the device, 900 µs from call to result)."
    )


@pytest.mark.parametrize(
    "record",
    [
        timed("dense", 4096, 134, 150),
        timed("dense", 4096, 134, None),
        timed("dense", 4096, 134, 190, latency_low_s=140e-6),
    ],
)
def test_what_is_not_bound_by_its_launches_for_sure_is_not_told(record):
    assert launch_lines(suite_of(record)) == []


def test_of_many_implementations_the_first_are_named():
    (line,) = launch_lines(suite_of(*(timed(f"k{n}", 4096, 10, 100) for n in range(MOST + 2))))
    assert line.endswith("; and 2 more.")
