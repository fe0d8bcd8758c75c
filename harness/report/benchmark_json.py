"""Medians as the JSON that services which keep benchmarks over time read, by the ids of the cases.

A case without a time is in neither form: a service would draw 0.
"""

from collections.abc import Iterable
from typing import Any

from harness.analysis.suite_results import CaseResult, SuiteResults

MILLISECONDS, NANOSECONDS = 1e3, 1e9  # in a second


def _timed_cases(suites: Iterable[SuiteResults]) -> dict[str, CaseResult]:
    """The timed cases by id, in the order of the suites; one that several suites share stands once."""
    rows = (row for suite in suites for row in suite.cases)
    return {row.case: row for row in rows if row.time.value is not None}


def github_benchmarks(suites: Iterable[SuiteResults]) -> list[dict[str, Any]]:
    """The input of github-action-benchmark's tool `customSmallerIsBetter`: medians in milliseconds.

    https://github.com/benchmark-action/github-action-benchmark; `range` is the 95 % interval.
    """
    entries: list[dict[str, Any]] = []
    for case, row in _timed_cases(suites).items():
        time, record = row.time, row.record
        median, *bounds = (x * MILLISECONDS for x in time[:3] if x is not None)
        extra = f"{time.reason or f'95 %, {time.label}'}\nrun {record.run}\nfingerprint {record.fingerprint}"
        spread = {"range": f"[{bounds[0]:.6g}, {bounds[1]:.6g}]"} if bounds else {}
        entries.append({"name": case, "unit": "ms", "value": median, **spread, "extra": extra})
    return entries


def bencher_metrics(suites: Iterable[SuiteResults]) -> dict[str, Any]:
    """Bencher Metric Format: latencies in nanoseconds, with bounds where there is an interval.

    https://bencher.dev/docs/reference/bencher-metric-format
    """
    names = ("value", "lower_value", "upper_value")
    return {
        case: {
            "latency": {n: x * NANOSECONDS for n, x in zip(names, row.time[:3], strict=True) if x is not None}
        }
        for case, row in _timed_cases(suites).items()
    }
