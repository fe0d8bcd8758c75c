"""Constructed suites for the tests of charts: exact figures, no clock."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.suite_results import SuiteResults
from harness.core.case import label
from harness.core.record import Correctness, Record, Timing
from harness.core.static_figures import Static
from harness.report.charts import draw_suite
from harness.report.charts.model import Chart, PublishedCurve
from harness.report.format import short_label
from tests.records import record_of, static_of, timing_of

FINGERPRINT = "sha256:0123456789abcdef"
SHARED = {"batch": 1, "dtype": "f32", "rows": 128, "topk": 2048}

INFO: Mapping[str, Any] = {
    "settings": {"memory_bytes": 18 * 2**30},
    "suites": {"mask": {"question": "which columns of a score matrix stay open?"}},
    "fingerprints": {FINGERPRINT: {"cpu": "Some CPU 9000", "threads": 2}},
}


def timing(median_s: float, spread: float = 0.05, rounds: int = 9, **changed: Any) -> Timing:
    """`rounds` samples evenly spread over ±`spread` of the median; its interval lies within."""
    steps = [(2 * i / max(rounds - 1, 1) - 1) * spread for i in range(rounds)]
    samples = tuple(median_s * (1 + step) for step in steps)
    low, high = (samples[1], samples[-2]) if rounds >= 6 else (None, None)
    return replace(timing_of(samples, **changed), median_s=samples[rounds // 2], low_s=low, high_s=high)


def static(temp_bytes: int | None, **changed: Any) -> Static:
    missing = {"temp_bytes": "torch has no planner of memory"}
    figures = {"argument_bytes": 2**20, "output_bytes": 2**20, "temp_bytes": temp_bytes, **changed}
    return static_of(unavailable=missing, **figures)


def record(
    name: str,
    seq: int,
    median_s: float | None = None,
    *,
    status: str = "ok",
    temp: int | None = 2**20,
    workload: Mapping[str, Any] | None = None,
    **changed: Any,
) -> Record:
    """A record of `mask/name`, timed if `median_s` is given, else with its status's evidence."""
    judged = status in {"ok", "incorrect"}
    values: dict[str, Any] = {
        "reason": None if status == "ok" else f"{status} because of {name}; take a shorter length",
        "correctness": Correctness("exact", status == "ok", "whole") if judged else None,
        "timing": None if median_s is None else timing(median_s),
        "static": {} if temp is None else {"host": static(temp)},
        "fingerprint": FINGERPRINT,
        "started": "2026-11-20T11:30:00Z",
    }
    return record_of(
        name, seq, status=status, workload={**SHARED, **(workload or {})}, **{**values, **changed}
    )


def suite(*records: Record, baseline: str = "mask/broadcast", name: str = "mask") -> SuiteResults:
    labels = tuple(dict.fromkeys(label(r.implementation, r.options) for r in records))
    return SuiteResults(name, "mask", baseline, labels, records)


def texts_of(svg: bytes) -> list[str]:
    """Every text of a chart line by line, and its footnotes whole."""
    page = ET.fromstring(svg)
    lines = [text.text or "" for text in page.iter("{http://www.w3.org/2000/svg}text")]
    notes = page.findtext(".//{http://purl.org/dc/elements/1.1/}description") or ""
    return lines + [f"• {note}" for note in notes.splitlines()]


def words_of(
    kind: str, drawn: SuiteResults, info: Mapping[str, Any] = INFO, curves: Sequence[PublishedCurve] = ()
) -> list[str]:
    """The texts of one chart of a suite."""
    return texts_of(draw_suite(drawn, info, curves, [kind])[kind])


def outcomes_of(chart: Chart, panel: int = 0) -> set[tuple[str, str, int]]:
    """(implementation without its family, words, length) of every bar in a panel's outcome strip."""
    return {(short_label(o.label), o.words, o.seq) for o in chart.panels[panel].outcomes}
