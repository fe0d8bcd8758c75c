"""A run as one JSON object, to be archived alone: what `run --json` and `show --json` print."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.record import Record

# Of run.json: what the figures below are of, and how they were taken. `suites` have their axes and settings.
HEADER = ("schema", "run", "version", "command", "started", "finished", "settings", "suites", "fingerprints")


def run_data(
    info: Mapping[str, Any], records: Sequence[Record], overhead: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """HEADER, the records, and the figures computed from them per suite; what there is none of is empty.

    Of the header what `info` does not say is None.
    """
    suites = results_of(info, records)
    return {
        **{name: info.get(name) for name in HEADER},
        "records": [record.to_json() for record in records],
        "comparisons": _figures(suites, "comparisons"),
        "throughput": _figures(suites, "throughputs"),
        **({"roofs": _roofs(suites)} if info.get("rooflines") else {}),
        "scaling": _figures(suites, "scalings"),
        "crossovers": _figures(suites, "crossovers"),
        "document_losses": _figures(suites, "document_losses"),
        "programs": [asdict(program) for suite in suites for program in suite.programs],
        "turnings": _figures(suites, "flips"),
        "largest": list(info.get("largest") or ()),
        "overhead": dict(overhead or {}),
    }


def _roofs(suites: Sequence[SuiteResults]) -> list[dict[str, Any]]:
    """Shares of the roof that binds, from 0 to 1; what is refused is no share."""
    return [
        {"suite": suite.name, "case": case, **asdict(found), "share": found.share._asdict()}
        for suite in suites
        for case, found in suite.roofs.items()
    ]


def _figures(suites: Sequence[SuiteResults], name: str) -> list[dict[str, Any]]:
    """The suites' figures of that name, each with the bound that its implementation's author gives."""
    return [
        {**asdict(figure), "bound": suite.bounds.get(figure.implementation, "")}
        for suite in suites
        for figure in getattr(suite, name)
    ]
