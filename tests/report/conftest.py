"""A run built by hand: a suite with every kind of outcome, all its figures chosen."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.analysis.results import label_of
from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.case import Case
from harness.core.median_interval import median_interval
from harness.core.record import Correctness, Cost, Record, Timing
from harness.core.static_figures import Static

RUN = "20261120T113000Z-1a2b3c4"
GIB = 2**30
GB = 10**9
PASSED = Correctness("exact", True, "whole", {"mismatches": 0})
FAILED = Correctness("exact", False, "whole", {"mismatches": 12})


def timing_of(samples: Sequence[float], **more: Any) -> Timing:
    middle, low, high = median_interval(samples)
    values = {"method": "wall", "cache": "rotated", "inner": 1, "stopped": "interval", **more}
    return Timing(tuple(samples), tuple(range(len(samples))), middle, low, high, **values)


def static_of(**figures: Any) -> Static:
    names = (
        "argument_bytes",
        "output_bytes",
        "temp_bytes",
        "alias_bytes",
        "peak_bytes",
        "flops",
        "bytes_accessed",
    )
    reasons = {
        "peak_bytes": "XLA's figure for this backend leaves temporaries out",
        **figures.pop("unavailable", {}),
    }
    missing = {n: reasons.get(n, "not counted") for n in names if figures.get(n) is None}
    if figures.get("flops") is not None:
        figures.setdefault("flops_source", "compiled")
    return Static(unavailable=missing, **figures)


def record_of(name: str, seq: int, status: str = "ok", **more: Any) -> Record:
    workload = {"batch": 1, "dtype": "f32", "rows": 128, "topk": 2048, "seq": seq, **more.pop("workload", {})}
    family = more.pop("family", "mask")
    values: dict[str, Any] = {
        "run": RUN,
        "semantics": "exact",
        "framework": "jax",
        "mode": "fwd",
        "device": "cpu",
        "options": {},
        "seed": 0,
        "status": status,
        "reason": None if status == "ok" else "a sentence with a remedy",
        "correctness": PASSED if status == "ok" else None,
        **more,
    }
    case = Case.of(f"{family}/{name}", values["options"], workload, values["mode"], values["device"])
    return Record(
        case=case.id,
        family=family,
        implementation=f"{family}/{name}",
        seq=seq,
        workload=workload,
        **values,
    )


def info_of(records: Sequence[Record], baseline: str | None, name: str = "mask") -> dict[str, Any]:
    described = {
        "family": records[0].family,
        "baseline": baseline,
        "implementations": list(dict.fromkeys(label_of(r) for r in records)),
        "cases": list(dict.fromkeys(r.case for r in records)),
    }
    return {"suites": {name: described}}


def around(seconds: float, rounds: int, start: int = 0) -> list[float]:
    """Times near `seconds`; another `start` gives another order."""
    noise = (1.0, 0.985, 1.012, 1.004, 0.991, 1.023, 0.978, 1.008, 0.996, 1.031, 0.988, 1.001)
    return [seconds * noise[(start + i) % len(noise)] for i in range(rounds)]


def mask_run() -> list[Record]:
    records: list[Record] = []
    for seq in (4096, 16384, 65536, 131072):
        share = seq / 4096
        dense = static_of(
            temp_bytes=seq * 128 * 2048, flops=2.0 * seq * 128 * 2048, bytes_accessed=9.0 * seq**2
        )
        cost = Cost(bytes=4 * 128 * (seq + 2048), dense_flops=2.0 * seq * 128 * 2048)
        base = {"baseline": True, "static": {"host": dense}, "cost": cost}
        if seq == 131072:
            why = "the compiler plans 32.0 GiB; the limit is 18 GiB"
            records.append(record_of("broadcast", seq, "oom", reason=why, **base))
        else:
            times = around(0.004 * share**1.3 * (1.06 if seq == 16384 else 1), 12)
            records.append(record_of("broadcast", seq, timing=timing_of(times), **base))
        sparse = static_of(
            temp_bytes=seq * 128 * 4, bytes_accessed=3.0 * seq * 2048, unavailable={"flops": "negative: −1"}
        )
        records.append(
            record_of(
                "scatter",
                seq,
                timing=timing_of(around(0.006 * share, 12 if seq < 100_000 else 4, 3)),
                static={"host": sparse},
                cost=cost,
            )
        )
        wrong = {"correctness": FAILED, "reason": "scores tied with the threshold open too many columns"}
        records.append(
            record_of("threshold_literal", seq, "incorrect", expected=True, static={"host": sparse}, **wrong)
        )
        records.append(
            record_of(
                "two_stage",
                seq,
                options={"buckets": 4096, "keep": 2},
                timing=timing_of(around(0.003 * share, 8, 5), stopped="budget"),
                static={"host": sparse},
                semantics="recall",
                correctness=Correctness("recall", True, "rows", {"recall": 0.991}),
            )
        )
    return records


@pytest.fixture
def run() -> list[Record]:
    return mask_run()


@pytest.fixture
def info(run: list[Record]) -> dict[str, Any]:
    return info_of(run, "mask/broadcast")


@pytest.fixture
def record() -> Callable[..., Record]:
    return record_of


@pytest.fixture
def static() -> Callable[..., Static]:
    return static_of


@pytest.fixture
def times() -> Callable[..., list[float]]:
    return around


@pytest.fixture
def timing() -> Callable[..., Timing]:
    return timing_of


@pytest.fixture
def describe() -> Callable[..., dict[str, Any]]:
    return info_of


@pytest.fixture
def suite() -> Callable[..., SuiteResults]:
    def build(records: Sequence[Record], baseline: str | None = "mask/broadcast") -> SuiteResults:
        return results_of(info_of(records, baseline), records)[0]

    return build


@pytest.fixture
def plan_static(static):
    """Figures that plan so many bytes of temporaries, with a GiB of arguments and outputs each."""

    def build(temp, limit=18 * GIB, **more):
        fits = temp + 2 * GIB <= limit
        figures = {"argument_bytes": GIB, "output_bytes": GIB, "alias_bytes": 0, "flops": 8.0, **more}
        return static(temp_bytes=temp, fits=fits, **figures)

    return build


@pytest.fixture
def mask(record, plan_static):
    """Broadcast against scatter on the CPU and on a v5e; the figures follow the length."""

    def figures(seq, here, there, work):
        counted = {"flops": work * seq, "bytes_accessed": 9.0 * seq**2}
        return {
            "host": plan_static(int(here * seq / 16384), **counted),
            "tpu:v5e": plan_static(int(there * seq / 16384), 16 * GIB, **counted),
        }

    return [
        record(name, seq, correctness=None, static=figures(seq, *rest))
        for seq in (4096, 16384)
        for name, *rest in (("broadcast", 567 * GB, 0.27 * GB, 2.0**18), ("scatter", 0.5 * GB, 1.5 * GB, 4.0))
    ]
