"""A run as one JSON object: what `run --json` and `show --json` print."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.analysis.compare import comparisons
from harness.analysis.geomean import means
from harness.analysis.results import by_suite
from harness.analysis.same_program import programs
from harness.analysis.scaling import crossovers, scalings
from harness.analysis.target_flips import turnings
from harness.core.record import Record


def run_data(
    info: Mapping[str, Any], records: Sequence[Record], overhead: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The records, and the figures computed from them per suite; every list is empty rather than absent."""
    suites = by_suite(info, records)
    return {
        "records": [record.to_json() for record in records],
        "comparisons": [asdict(comparison) for suite in suites for comparison in comparisons(suite)],
        "scaling": [asdict(scaling) for suite in suites for scaling in scalings(suite)],
        "crossovers": [asdict(crossover) for suite in suites for crossover in crossovers(suite)],
        "means": [asdict(mean) for suite in suites for mean in means(suite)],
        "programs": [asdict(program) for suite in suites for program in programs(suite)],
        "turnings": [asdict(turning) for suite in suites for turning in turnings(suite)],
        "largest": list(info.get("largest") or ()),
        "overhead": dict(overhead or {}),
    }
