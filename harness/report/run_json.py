"""A run as one self-contained JSON object, printed by `run --json` and `show --json`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.analysis.kernel_warnings import warning_sentences
from harness.analysis.suite_results import SuiteResults, results_of
from harness.analysis.throughput import WORK
from harness.core.record import Record

# The keys of run.json that describe the run and how it was measured; suites have their settings.
HEADER = ("schema", "run", "version", "command", "started", "finished", "settings", "suites", "fingerprints")
OMITTED = ("cause", "baseline_outcome", "lacks_baseline")  # fields that `reason` and `notes` describe


def run_data(info: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:
    """HEADER, the records, and the figures computed from them per suite.

    Header keys that `info` lacks are None.
    """
    suites = results_of(info, records)
    roofs = [
        {"suite": suite.name, "case": case, **asdict(found), "share": found.share._asdict()}
        for suite in suites
        for case, found in suite.roofs.items()
    ]
    return {
        **{name: info.get(name) for name in HEADER},
        "records": [record.to_json() for record in records],
        "comparisons": _figures(suites, "comparisons"),
        "throughput": [
            {"suite": suite.name, **records.point, "work": work, "unit": WORK[work], **rate.to_json()}
            | {"bound": suite.bounds.get(records.label, "")}
            for suite in suites
            for case, records in suite.by_case.items()
            for work, rate in suite.throughputs[case].items()
        ],
        **({"roofs": roofs} if roofs else {}),
        "scaling": _figures(suites, "scalings"),
        "crossovers": _figures(suites, "crossovers"),
        "programs": [asdict(program) for suite in suites for program in suite.programs],
        "kernel_warnings": [
            {"case": record.case, "target": name, "warning": sentence}
            for record in records
            for name, static in record.static.items()
            for sentence in warning_sentences(static.kernels, name)
        ],
        "largest": list(info.get("largest") or ()),
        "overhead": dict(info.get("overhead") or {}),
    }


def _figures(suites: Sequence[SuiteResults], name: str) -> list[dict[str, Any]]:
    """The suites' figures of that name, each with the bound stated by its implementation's author."""
    return [
        {field: value for field, value in data.items() if field not in OMITTED}
        for suite in suites
        for figure in getattr(suite, name)
        for data in [{**asdict(figure), "bound": suite.bounds.get(figure.implementation, "")}]
    ]
