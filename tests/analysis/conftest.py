"""Records built by hand: every number in these tests is known before it is computed."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.analysis.results import SuiteRecords, label_of
from harness.core.case import Case
from harness.core.median_interval import median_interval
from harness.core.record import Correctness, Record, Timing
from harness.core.static_figures import Static


def timing_of(samples: Sequence[float], rounds: Sequence[int] | None = None, **more: Any) -> Timing:
    middle, low, high = median_interval(samples)
    values = {"method": "wall", "cache": "rotated", "inner": 1, "stopped": "interval", **more}
    return Timing(
        samples_s=tuple(samples),
        round=tuple(rounds if rounds is not None else range(len(samples))),
        median_s=middle,
        low_s=low,
        high_s=high,
        **values,
    )


def static_of(**figures: Any) -> Static:
    names = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "peak_bytes")
    missing = [n for n in (*names, "flops", "bytes_accessed") if figures.get(n) is None]
    reasons = figures.pop("unavailable", {})
    if figures.get("flops") is not None:
        figures.setdefault("flops_source", "compiled")
    return Static(unavailable={n: reasons.get(n, "not counted here") for n in missing}, **figures)


def record_of(name: str, seq: int, samples: Sequence[float] | None = None, **more: Any) -> Record:
    """A record of family `mask`; with `samples` it is ok and timed, without it is what `more` says."""
    workload = {"batch": 1, "seq": seq, "dtype": "f32", **more.pop("workload", {})}
    timing = more.pop("timing", None) or (timing_of(samples) if samples else None)
    values: dict[str, Any] = {
        "run": "r1",
        "status": "ok",
        "semantics": "exact",
        "framework": "jax",
        "mode": "fwd",
        "device": "cpu",
        "options": {},
        "seed": 0,
        **more,
    }
    values.setdefault("reason", None if values["status"] == "ok" else "a sentence")
    if timing is not None:
        values.setdefault("correctness", Correctness("exact", True, "whole"))
    case = Case.of(f"mask/{name}", values["options"], workload, values["mode"], values["device"])
    return Record(
        case=case.id,
        family="mask",
        implementation=f"mask/{name}",
        seq=seq,
        workload=workload,
        timing=timing,
        **values,
    )


def suite_of(records: Sequence[Record], baseline: str = "mask/base") -> SuiteRecords:
    labels = tuple(dict.fromkeys(label_of(record) for record in records))
    return SuiteRecords("s", "mask", baseline, labels, tuple(records))


@pytest.fixture
def record() -> Callable[..., Record]:
    return record_of


@pytest.fixture
def static() -> Callable[..., Static]:
    return static_of


@pytest.fixture
def timing() -> Callable[..., Timing]:
    return timing_of


@pytest.fixture
def suite() -> Callable[..., SuiteRecords]:
    return suite_of
