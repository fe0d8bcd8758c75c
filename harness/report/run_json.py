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
    """Records, and what is computed from them per suite; every list is empty rather than absent."""
    suites = by_suite(info, records)
    return {
        "records": [record.to_json() for record in records],
        "comparisons": [asdict(found) for suite in suites for found in comparisons(suite)],
        "scaling": [asdict(found) for suite in suites for found in scalings(suite)],
        "crossovers": [asdict(found) for suite in suites for found in crossovers(suite)],
        "means": [asdict(found) for suite in suites for found in means(suite)],
        "programs": [asdict(found) for suite in suites for found in programs(suite)],
        "turnings": [asdict(found) for suite in suites for found in turnings(suite)],
        "largest": list(info.get("largest") or ()),
        "overhead": dict(overhead or {}),
    }
