"""Charts of suites with fixed figures, as data and as drawn texts, compared with a golden file."""

from dataclasses import fields, replace

import pytest

from harness.analysis.compare_runs import SideBySide, match_implementations, match_runs
from harness.core.record import STATUSES, Correctness, Memory
from harness.core.static_figures import Static
from harness.report.charts import draw_suite
from harness.report.charts.comparison import draw_comparison
from harness.report.charts.grid import CaseGrid
from harness.report.charts.latency import latency
from harness.report.charts.memory import memory
from harness.report.charts.model import PublishedCurve
from harness.report.charts.recall import recall
from harness.report.charts.scaling import scaling
from harness.report.charts.speedup import speedup
from harness.report.charts.static import static as static_chart
from tests.goldens import assert_golden, scenes
from tests.report.charts.suites import INFO, record, static, suite, texts_of, timing

K, MIB, GIB = 1024, 2**20, 2**30
GRID = (4 * K, 8 * K, 16 * K)
COMPILED = {**INFO, "depth": "static"}
ALL = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "peak_bytes", "flops", "bytes_accessed")
NINE = (
    "host", "tpu:v5e", "tpu:v5p", "tpu:v6e", "tpu:7x", "cuda:a100", "cuda:h100", "cuda:h200", "cuda:b200",
)  # fmt: skip
BUILD = {
    "latency": lambda grid, info, curves: latency(grid),
    "speedup": lambda grid, info, curves: speedup(grid, curves),
    "memory": lambda grid, info, curves: memory(grid, info),
    "static": lambda grid, info, curves: static_chart(grid, info),
    "scaling": lambda grid, info, curves: scaling(grid),
    "recall": lambda grid, info, curves: recall(grid),
}


def plain(value):
    """A chart's data as short text: floats with six digits, dataclasses by their set fields."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(plain, value)) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{plain(key)}: {plain(own)}" for key, own in value.items()) + "}"
    if hasattr(value, "__dataclass_fields__"):
        told = {each.name: getattr(value, each.name) for each in fields(value)}
        return " ".join(
            f"{name}={plain(own)}" for name, own in told.items() if own not in (None, False, (), "")
        )
    return str(value)


def described(chart):
    if chart is None:
        return "no chart"
    lines = [chart.title, *(f"• {note}" for note in chart.notes)]
    for panel in chart.panels:
        told = {each.name: getattr(panel, each.name) for each in fields(panel)}
        lines.append(f"panel {told.pop('title')!r}")
        lines += [f"  {name}: {plain(own)}" for name, own in told.items() if own not in (None, (), {})]
    extra = {
        name: getattr(chart, name) for name in ("rows", "levels", "uprights") if getattr(chart, name, ())
    }
    return "\n".join([*lines, *(f"{name}: {plain(own)}" for name, own in extra.items())])


def crossing():
    """scatter is half as fast at 4Ki, equal in the middle of 4Ki and 16Ki, twice as fast at 16Ki."""
    return [
        record(name, seq, seconds)
        for seq in (4 * K, 16 * K)
        for name, seconds in (("broadcast", 1e-7 * seq), ("scatter", 1e-7 * 8 * K))
    ]


def given_up():
    """The baseline takes seq squared and is given up at 64Ki; scatter grows with seq."""
    lengths = (1 * K, 4 * K, 16 * K)
    found = [record("broadcast", seq, 1e-9 * seq**2) for seq in lengths]
    found.append(record("broadcast", 64 * K, status="skipped", reason="predicted 9 s a call: raise --budget"))
    return found + [record("scatter", seq, 1e-6 * seq) for seq in (*lengths, 64 * K)]


def growing(lengths, temp=1):
    """broadcast takes seq squared, scatter seq; both plan seq bytes, as a third does, which never ran."""
    return [
        *(record("broadcast", seq, 1e-9 * seq**2, temp=temp * seq) for seq in lengths),
        *(record("scatter", seq, 1e-6 * seq, temp=temp * seq) for seq in lengths),
        *(record("sorted", seq, status="oom", temp=seq) for seq in lengths if temp),
    ]


def approximate(**more):
    figures = {"recall": 0.97, "recall_low": 0.96, "recall_high": 0.98, "target": 0.95}
    judged = Correctness("recall", True, "whole", figures)
    timed = [record("broadcast", 4 * K, 2e-3), record("buckets", 4 * K, 1e-3, correctness=judged, **more)]
    return [*timed, record("failed", 4 * K, status="oom")]


def by_events(*records):
    return [replace(each, timing=replace(each.timing, method="cuda_events")) for each in records]


def planned(*names, **static_figures):
    targets = {name.replace("_", ":"): own for name, own in static_figures.items()}
    return [record(name, K, static=targets) for name in names or ("broadcast",)]


FAILED = [status for status in STATUSES if status != "ok"]
TRIO = [record(name, 4 * K, 1e-3) for name in ("broadcast", "scatter", "threshold")]
MIB_2 = "the compiler plans 3.00 MiB; the limit is 2.00 MiB: raise --memory or shorten the sequence"
OTHERS = ("scatter", "scatter_flat", "threshold_exactk", "threshold_raw")
NO_LIBTPU, NO_WINDOW = Static.none("libtpu is not installed"), Static.none("no such window")
REFUSED = Static(unavailable=dict.fromkeys(ALL, "Ran out of memory in memory space hbm"), fits=False)
POINTS = ((2 * K, 0.1), (4 * K, 0.3), (8 * K, 0.6), (16 * K, 1.5), (64 * K, 4.0))
CURVE = PublishedCurve("mask/scatter", "mask/broadcast", "fwd", "Pull #1, GB200", POINTS)
CURVES = (CURVE, replace(CURVE, mode="bwd"), replace(CURVE, baseline="mask/scatter"))
DRAWN = True
# name: (kinds, records, what else)
SCENES = {
    "every status": ("latency speedup memory", [
        *(record("broadcast", seq * K, 1e-3) for seq in (64, 4)),
        *(record(status, 4 * K, status=status) for status in FAILED), record("threshold", 64 * K, 1e-3),
    ], {"drawn": DRAWN}),
    "everything failed": ("latency speedup memory", [
        record(name, seq, status="oom", temp=2**40) for name in ("broadcast", "scatter") for seq in (K, 2 * K)
    ], {"drawn": DRAWN}),
    "what was planned of an oom": ("latency memory", [
        record("broadcast", 64 * K, status="oom", temp=264 * GIB), record("broadcast", K, 1e-3),
    ], {"drawn": DRAWN}),
    "only checked": ("latency", [record("scatter", 4 * K)], {}),
    "too few rounds": ("latency", [record("scatter", 4 * K, 1e-3, timing=timing(1e-3, rounds=3))], {}),
    "intervals over processes": ("latency", [
        record("scatter", 4 * K, 1e-3 * (1 + i / 50), replicate=i) for i in range(4)
    ], {}),
    "static figures alone": ("latency", [
        record("scatter", 4 * K, static={"host": static(2**20)}, correctness=None)
    ], {"drawn": DRAWN}),
    "another clock": ("latency", [TRIO[0], *by_events(*TRIO[1:])], {}),
    "high water": ("memory", [record("scatter", K, 1e-3, memory=Memory(3 * MIB))], {"drawn": DRAWN}),
    "a gpu": ("memory", [
        record("scatter", K, 1e-3, device="cuda", memory=Memory(3 * MIB), static={"cuda": static(MIB)})
    ], {"drawn": DRAWN}),
    "zero bytes": ("memory", [
        record("broadcast", K, 1e-3, temp=MIB), record("scatter", K, 1e-3, temp=0)
    ], {"drawn": DRAWN}),
    "no planner": ("memory", [record("scatter", K, 1e-3, temp=None, static={"host": static(None)})], {}),
    "targets have panels of their own": ("memory", [
        record("scatter", K, 1e-3, static={"tpu:v5p": static(GIB, fits=False), "host": static(MIB)}),
        record("scatter", 2 * K, 1e-3),
        record("hosts", K, status="oom", static={"host": static(264 * GIB), "tpu:v5p": static(MIB)}),
    ], {}),
    "a crossing with published curves": ("speedup", crossing(), {"curves": CURVES, "drawn": DRAWN}),
    "a baseline that was given up": ("speedup", given_up(), {"drawn": DRAWN}),
    "no crossover in either mode": ("speedup", [
        record(name, seq, seconds, mode=mode)
        for mode, factor in (("fwd", 2.0), ("bwd", 0.5)) for seq in GRID
        for name, seconds in (("broadcast", 1e-3), ("scatter", 1e-3 * factor))
    ], {}),
    "what is alike is named once": ("speedup", [
        *(record("broadcast", seq, 1e-2) for seq in GRID[:2]),
        record("broadcast", 16 * K, status="oom", reason=MIB_2),
        *(record(name, seq, 1e-3) for name in OTHERS for seq in GRID),
    ], {}),
    "no baseline": ("speedup latency", [TRIO[1], record("nsa", 4 * K, 1e-3, semantics="nsa_mslk")], {
        "baseline": ""
    }),
    "other semantics": ("latency speedup memory", [
        TRIO[0], record("nsa", 4 * K, 1e-3, semantics="nsa_mslk")
    ], {"drawn": DRAWN}),
    "expected to be incorrect": ("speedup", [
        TRIO[0], record("is_ok", 4 * K, expected=True),
        record("is_incorrect", 4 * K, status="incorrect", expected=True),
    ], {}),
    "planned bytes": ("static", planned(
        "broadcast", tpu_v5p=static(GIB, argument_bytes=4 * MIB, output_bytes=2 * MIB, alias_bytes=MIB)
    ), {"info": COMPILED}),
    "a panel for each target, in the order of asking": ("static", planned(
        host=static(MIB), tpu_v5p=static(2 * MIB), cuda_h200=static(3 * MIB)
    ), {"info": COMPILED, "targets": ("tpu:v5p", "host", "cuda:h200")}),
    "does not fit": ("static", planned(host=static(GIB, fits=True), tpu_v5e=static(30 * GIB, fits=False)), {
        "info": COMPILED, "drawn": DRAWN,
    }),
    "a compiler that refuses": ("static", planned("scatter", host=static(GIB), tpu_v5e=REFUSED), {
        "info": COMPILED
    }),
    "no compiler": ("static", [
        *planned("scatter", host=static(GIB), tpu_v5e=NO_LIBTPU, tpu_v5p=NO_LIBTPU), record("broadcast", K)
    ], {"info": COMPILED}),
    "failed before it was compiled": ("static", [
        record("scatter", K, status="unsupported", static={}),
        record("other", K, status="unsupported", static=dict.fromkeys(("host", "tpu:v5p"), NO_WINDOW)),
        *planned(host=static(GIB), tpu_v5p=static(GIB)),
    ], {"info": COMPILED}),
    "doubts and equal programs": ("static", planned(
        "broadcast", "approx",
        cuda_h200=static(GIB, program="sha256:a", warnings=("the device would run another program",)),
    ), {"info": COMPILED}),
    "nine targets": ("static", planned(
        **{name.replace(":", "_"): static(GIB) for name in NINE}
    ), {"info": COMPILED, "drawn": DRAWN}),
    "exponents": ("scaling", growing(GRID), {}),
    "two lengths have no whiskers": ("scaling", growing(GRID[:2], temp=0), {}),
    "recall over the speedup": ("recall", approximate(), {"drawn": DRAWN}),
    "recall that theory expects": ("recall", approximate(facts={"expected_recall": 0.9716}), {}),
    "exact answers have no recall": ("recall", TRIO[:1], {}),
}  # fmt: skip


def text_of(kinds, records, *, info=INFO, curves=(), baseline="mask/broadcast", targets=(), drawn=False):
    results = replace(suite(*records, baseline=baseline), targets=targets)
    parts = []
    for kind in kinds.split():
        parts += [f"-- {kind}", described(BUILD[kind](CaseGrid.of(results), info, curves))]
        if drawn:
            words = texts_of(draw_suite(results, info, curves, [kind])[kind])
            parts.append("drawn: " + " | ".join(word for word in words if not word.startswith("•")))
    return "\n".join(parts)


def test_charts_match_the_golden_file():
    assert_golden("charts.txt", scenes({name: text_of(*of[:2], **of[2]) for name, of in SCENES.items()}))


def of_scatter(seconds, **changed):
    return [record("scatter", seq, seconds, **changed) for seq in (4 * K, 16 * K)]


def compared(matched, of, to, *, trend=False):
    return "\n".join(texts_of(draw_comparison(SideBySide(trend, "heading", of, to, {}, matched.changes, {}))))


def test_comparison_charts_match_the_golden_file():
    records = [*of_scatter(1e-3), record("broadcast", 4 * K, 2e-3), record("broadcast", 16 * K, status="oom")]
    later = [
        record("scatter", seq, run="later", source="sha256:b", timing=timing(1e-3, warnings=(drift,)))
        for seq, drift in ((4 * K, "drifts: 12 % slower"), (16 * K, "drifts: 13 % slower"))
    ]
    runs = match_runs(of_scatter(1e-3, source="sha256:a"), later)
    said = {
        "two implementations": compared(
            match_implementations(records, "scatter", "broadcast"), "scatter", "broadcast"
        ),
        "two runs": compared(runs, "later", "earlier", trend=True),
    }
    assert_golden("comparison_charts.txt", scenes(said))


@pytest.mark.parametrize(
    ("info", "targets", "seconds", "kinds"),
    [
        (COMPILED, ("host",), None, "memory static"),
        (INFO, ("host", "tpu:v5p"), 1e-3, "latency speedup memory static"),
        (INFO, ("host",), 1e-3, "latency speedup memory"),
    ],
)
def test_a_suite_has_the_charts_that_its_records_have_figures_for(info, targets, seconds, kinds):
    own = suite(record("broadcast", K, seconds, static={target: static(GIB) for target in targets}))
    assert list(draw_suite(own, info)) == kinds.split()
