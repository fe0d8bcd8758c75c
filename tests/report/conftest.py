"""A run built by hand: a suite with every kind of outcome and fixed figures."""

import io

import pytest
from rich.console import Console

from harness.analysis.results import label_of
from harness.analysis.suite_results import results_of
from harness.core.record import Correctness, Cost
from harness.report.run_report import print_run
from tests import records
from tests.records import FAILED, PASSED, timing_of

GIB = 2**30
GB = 10**9
LEFT_OUT = {"peak_bytes": "XLA's figure for this backend leaves temporaries out"}


def static_of(**figures):
    return records.static_of(**{**figures, "unavailable": LEFT_OUT | figures.get("unavailable", {})})


def record_of(name, seq, status="ok", **more):
    more["workload"] = {"rows": 128, "topk": 2048, **more.get("workload", {})}
    more.setdefault("correctness", PASSED if status == "ok" else None)
    return records.record_of(name, seq, status=status, **more)


def info_of(records, baseline, name="mask"):
    described = {
        "family": records[0].family,
        "baseline": baseline,
        "implementations": list(dict.fromkeys(label_of(r) for r in records)),
        "cases": list(dict.fromkeys(r.case for r in records)),
    }
    return {"suites": {name: described}}


def around(seconds, rounds, start=0):
    """Times near `seconds`; another `start` gives another order."""
    noise = (1.0, 0.985, 1.012, 1.004, 0.991, 1.023, 0.978, 1.008, 0.996, 1.031, 0.988, 1.001)
    return [seconds * noise[(start + i) % len(noise)] for i in range(rounds)]


@pytest.fixture
def run():
    made = []
    for seq in (4096, 16384, 65536, 131072):
        share, squares = seq / 4096, seq * 128 * 2048
        dense = static_of(temp_bytes=squares, flops=2.0 * squares, bytes_accessed=9.0 * seq**2)
        cost = Cost(bytes=4 * 128 * (seq + 2048), dense_flops=2.0 * squares)
        base = {"baseline": True, "static": {"host": dense}, "cost": cost}
        if seq == 131072:
            why = "the compiler plans 32.0 GiB; the limit is 18 GiB"
            made.append(record_of("broadcast", seq, "oom", reason=why, **base))
        else:
            times = around(0.004 * share**1.3 * (1.06 if seq == 16384 else 1), 12)
            made.append(record_of("broadcast", seq, timing=timing_of(times), **base))
        counted = {"temp_bytes": seq * 128 * 4, "bytes_accessed": 3.0 * seq * 2048}
        sparse = {"static": {"host": static_of(unavailable={"flops": "negative: −1"}, **counted)}}
        times = around(0.006 * share, 12 if seq < 100_000 else 4, 3)
        made.append(record_of("scatter", seq, timing=timing_of(times), cost=cost, **sparse))
        wrong = {"correctness": FAILED, "reason": "scores tied with the threshold open too many columns"}
        made.append(record_of("threshold_literal", seq, "incorrect", expected=True, **sparse, **wrong))
        passed = Correctness("recall", True, "rows", {"recall": 0.991})
        other = {"semantics": "recall", "options": {"buckets": 4096, "keep": 2}, "correctness": passed}
        times = timing_of(around(0.003 * share, 8, 5), stopped="budget")
        made.append(record_of("two_stage", seq, timing=times, **sparse, **other))
    return made


@pytest.fixture
def info(run):
    return info_of(run, "mask/broadcast")


record = pytest.fixture(lambda: record_of, name="record")
static = pytest.fixture(lambda: static_of, name="static")
timing = pytest.fixture(lambda: timing_of, name="timing")
describe = pytest.fixture(lambda: info_of, name="describe")


def results_of_records(records, baseline="mask/broadcast"):
    return results_of(info_of(records, baseline), records)[0]


suite = pytest.fixture(lambda: results_of_records, name="suite")


@pytest.fixture
def plan_static(static):
    """Figures with these bytes of temporaries, and 1 GiB each of arguments and outputs."""

    def build(temp, limit=18 * GIB, **more):
        fits = temp + 2 * GIB <= limit
        figures = {"argument_bytes": GIB, "output_bytes": GIB, "alias_bytes": 0, "flops": 8.0, **more}
        return static(temp_bytes=temp, fits=fits, **figures)

    return build


@pytest.fixture
def mask(record, plan_static):
    """Broadcast and scatter on the CPU and on a v5e, with figures that depend on the length."""

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


def page(info, records, width=120, **more):
    """The printed report of a run."""
    out = io.StringIO()
    print_run(Console(file=out, width=width), info, records, **more)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
