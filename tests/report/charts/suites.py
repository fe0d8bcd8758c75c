"""Constructed suites for the tests of charts: exact figures, no clock."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from harness.analysis.suite_results import SuiteResults
from harness.core.case import Case, label
from harness.core.record import Correctness, Record, Timing
from harness.core.static_figures import Static
from harness.report.charts.model import Chart
from harness.report.format import short_label

RUN = "20261120T113000Z-1a2b3c4"
FINGERPRINT = "sha256:0123456789abcdef"
SHARED = {"batch": 1, "dtype": "f32", "rows": 128, "topk": 2048}

INFO: Mapping[str, Any] = {
    "settings": {"memory_bytes": 18 * 2**30},
    "suites": {"mask": {"question": "which columns of a score matrix stay open?"}},
    "fingerprints": {FINGERPRINT: {"cpu": "Some CPU 9000", "threads": 2}},
}


def timing(median_s: float, spread: float = 0.05, rounds: int = 9, **changed: Any) -> Timing:
    """`rounds` readings evenly spread over ±`spread` of the median; its interval lies within."""
    steps = [(2 * i / max(rounds - 1, 1) - 1) * spread for i in range(rounds)]
    samples = tuple(median_s * (1 + step) for step in steps)
    low, high = (samples[1], samples[-2]) if rounds >= 6 else (None, None)
    values = {"method": "wall", "cache": "rotated", "inner": 1, "stopped": "interval", **changed}
    return Timing(samples, tuple(range(rounds)), samples[rounds // 2], low, high, **values)


def static(temp_bytes: int | None, **changed: Any) -> Static:
    figures: dict[str, Any] = {"argument_bytes": 2**20, "output_bytes": 2**20, "temp_bytes": temp_bytes}
    figures |= {"unavailable": dict.fromkeys(("peak_bytes", "alias_bytes", "flops", "bytes_accessed"), "-")}
    if temp_bytes is None:
        figures["unavailable"] = {**figures["unavailable"], "temp_bytes": "torch has no planner of memory"}
    return Static(**{**figures, **changed})


def record(
    name: str,
    seq: int,
    median_s: float | None = None,
    *,
    status: str = "ok",
    temp: int | None = 2**20,
    mode: str = "fwd",
    semantics: str = "exact",
    options: Mapping[str, Any] | None = None,
    workload: Mapping[str, Any] | None = None,
    **changed: Any,
) -> Record:
    """A record of `mask/name`, timed when `median_s` is given; else with the status's evidence."""
    point = {**SHARED, **(workload or {}), "seq": seq}
    case = Case.of(f"mask/{name}", options or {}, point, mode, "cpu")
    judged = status in {"ok", "incorrect"}
    values: dict[str, Any] = {
        "reason": None if status == "ok" else f"{status} because of {name}; take a shorter length",
        "correctness": Correctness("exact", status == "ok", "whole") if judged else None,
        "timing": None if median_s is None else timing(median_s),
        "static": {} if temp is None else {"host": static(temp)},
        "fingerprint": FINGERPRINT,
        "started": "2026-11-20T11:30:00Z",
    }
    return Record(
        run=RUN, case=case.id, family="mask", implementation=f"mask/{name}", semantics=semantics,
        options=options or {}, framework="jax", device="cpu", mode=mode, seq=seq, workload=point,
        seed=0, status=status, **{**values, **changed},
    )  # fmt: skip


def suite(*records: Record, baseline: str = "mask/broadcast", name: str = "mask") -> SuiteResults:
    labels = tuple(dict.fromkeys(label(r.implementation, r.options) for r in records))
    return SuiteResults(name, "mask", baseline, labels, records)


def texts_of(svg: bytes) -> list[str]:
    """Every text of a chart line by line, and its footnotes whole."""
    page = ET.fromstring(svg)
    lines = [text.text or "" for text in page.iter("{http://www.w3.org/2000/svg}text")]
    notes = page.findtext(".//{http://purl.org/dc/elements/1.1/}description") or ""
    return lines + [f"• {note}" for note in notes.splitlines()]


def outcomes_of(chart: Chart, panel: int = 0) -> set[tuple[str, str, int]]:
    """(implementation without its family, words, length) of every bar in a panel's lane."""
    return {(short_label(o.label), o.words, o.seq) for o in chart.panels[panel].outcomes}
