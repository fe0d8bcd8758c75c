"""A run as one JSON object: what `run --json` and `show --json` print."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.analysis.suite_results import results_of
from harness.core.record import Record


def run_data(
    info: Mapping[str, Any], records: Sequence[Record], overhead: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The records, and the figures computed from them per suite; every list is empty rather than absent."""
    suites = results_of(info, records)
    return {
        "records": [record.to_json() for record in records],
        "comparisons": [asdict(comparison) for suite in suites for comparison in suite.comparisons],
        "throughput": [asdict(throughput) for suite in suites for throughput in suite.throughputs],
        "scaling": [asdict(scaling) for suite in suites for scaling in suite.scalings],
        "crossovers": [asdict(crossover) for suite in suites for crossover in suite.crossovers],
        "means": [asdict(mean) for suite in suites for mean in suite.means],
        "programs": [asdict(program) for suite in suites for program in suite.programs],
        "turnings": [asdict(turning) for suite in suites for turning in suite.flips],
        "largest": list(info.get("largest") or ()),
        "overhead": dict(overhead or {}),
    }
