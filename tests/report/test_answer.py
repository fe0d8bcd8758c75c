"""The sentences before a panel's table, on runs with fixed numbers."""

from dataclasses import replace

import pytest

from harness.core.record import Correctness, Cost
from harness.core.remedy import Remedy
from harness.report.answer import answer, winner_line
from harness.report.charts.grid import CaseGrid
from harness.report.charts.notes import record_notes
from harness.report.tables import cells
from tests.goldens import assert_golden, scenes
from tests.records import kernel_of, static_of, timing_of
from tests.report.conftest import record_of, results_of_records

NOISE = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0, 1.0)
CLOSE = (0.97, 1.03, 1.0, 0.98, 1.02, 1.0, 1.0)
WIDE = (0.5, 2.0, 1.0, 0.6, 1.8, 1.0, 1.0)
FEW = (1.0, 1.1, 0.9)

REASONS = {
    "oom": "killed at its limit",
    "skipped": "predicted 9 s a call; the budget is 2 s: raise --budget",
    "timeout": "no reply within 60 s",
    "unsupported": "needs more rows",
}


def record(name, seq, taken, noise=NOISE, method="wall", queued=0.0, **more):
    """A case with this time in seconds, or this status; `noise` may be given by length."""
    if isinstance(taken, str):
        return record_of(name, seq, taken, **{"reason": REASONS.get(taken, "why"), **more})
    factors = noise[seq] if isinstance(noise, dict) else noise
    timing = timing_of([taken * n for n in factors], method=method, queued=queued, other_load=1.0)
    return record_of(name, seq, timing=timing, **more)


def panel_of(records, baseline="mask/broadcast", **more):
    (only,) = replace(results_of_records(records, baseline), **more).panels.values()
    return only


def on_h100(plan, **times):
    """A panel of calls that take 10 µs at the data sheet's rate, one with the plan of a kernel."""
    planned = {"cuda:h100": replace(static_of(temp_bytes=1), kernels=(kernel_of(**plan),))}
    given = {"workload": {"dtype": "bf16"}, "device": "cuda", "fingerprint": "f", "cost": Cost(989e7, 1e3)}
    records = [
        record(name, 4 * K, taken, method="cuda_events", static=planned if name == "scatter" else {}, **given)
        for name, taken in times.items()
    ]
    return panel_of(records, fingerprints={"f": {"gpu": {"name": "NVIDIA H100 80GB HBM3"}}})


def panel(times, baseline="mask/broadcast", **more):
    """A panel of {implementation: {length: seconds or status}}; `more`: {field: {implementation: value}}."""
    return panel_of(
        [
            record(name, seq, taken, **{what: own[name] for what, own in more.items() if name in own})
            for name, lengths in times.items()
            for seq, taken in lengths.items()
        ],
        baseline,
    )


K = 1024
LOST = {K: 1.0, 4 * K: "skipped"}
ALIKE = dict.fromkeys((K, 4 * K, 16 * K), 2.0)
REMEDIES = {"oom": Remedy.LESS_MEMORY, "skipped": Remedy.MORE_BUDGET, "unsupported": Remedy.SHORTER}
PANELS = {
    "faster from a length on": panel({"broadcast": {K: 2.0, 4 * K: 8.0}, "scatter": {K: 4.0, 4 * K: 4.0}}),
    "faster until a length": panel({"broadcast": {K: 2.0, 4 * K: 2.0}, "scatter": {K: 1.0, 4 * K: 4.0}}),
    "times of another clock are not ranked": panel(
        {"broadcast": {4 * K: 1.0}, "scatter": {4 * K: 4.0}, "threshold": {4 * K: 2.0}},
        method=dict.fromkeys(("scatter", "threshold"), "cuda_events"),
    ),
    "of as many by either clock the baseline's are ranked": panel(
        {"scatter": {4 * K: 1.0}, "broadcast": {4 * K: 2.0}}, method={"scatter": "cuda_events"}
    ),
    "an interval close around one is about the same": panel(
        {"broadcast": {K: 2.0, 4 * K: 2.0}, "scatter": {K: 1.98, 4 * K: 1.98}}, noise={"scatter": CLOSE}
    ),
    "a wide interval that contains one is undecided": panel(
        {"broadcast": {K: 2.0, 4 * K: 2.0}, "scatter": {K: 1.9, 4 * K: 1.9}}, noise={"scatter": WIDE}
    ),
    "other programs took the processor": panel(
        {"broadcast": {4 * K: 4.0}, "scatter": {4 * K: 2.0}, "sort": {4 * K: 8.0}}, queued={"scatter": 0.2}
    ),
    "some about the same, others undecided": panel(
        {"broadcast": {4 * K: 2.0}, "scatter": {4 * K: 2.0}, "sort": {4 * K: 2.1}, "slow": {4 * K: 4.0}},
        noise={"scatter": CLOSE, "sort": WIDE},
    ),
    "a verdict at the end is not of lengths that are undecided": panel(
        {"broadcast": ALIKE, "scatter": ALIKE}, noise={"scatter": {K: CLOSE, 4 * K: WIDE, 16 * K: CLOSE}}
    ),
    "equal operators of eager calls, without an interval": panel_of(
        [
            record(
                name, 4 * K, taken, (1.0,), framework="torch", static={"host": static_of(program="sha256:1")}
            )
            for name, taken in (("broadcast", 2.0), ("scatter", 1.0))
        ]
    ),
    "exact by fallback never crosses": panel(
        {"broadcast": {K: 2.0, 4 * K: 2.0}, "approx": {K: 2.2, 4 * K: 1.8}},
        facts={"approx": {"approximation": "exact by fallback"}},
        semantics={"approx": "recall"},
    ),
    "what is not equivalent does not win unmarked": panel(
        {"broadcast": {4 * K: 4.0}, "scatter": {4 * K: 2.0}, "threshold": {4 * K: 1.0}},
        semantics={"threshold": "threshold"},
    ),
    "what did not run has the flag that mends it": panel(
        {
            "broadcast": {K: 2.0, 4 * K: "oom"},
            "scatter": LOST,
            "threshold": {K: "timeout", 4 * K: "unsupported"},
        }
    ),
    "a stored flag is the remedy": panel_of(
        [record("broadcast", K, 1.0)]
        + [record(f"x_{status}", K, status, reason="why", remedy=REMEDIES[status]) for status in REMEDIES]
    ),
    "without an interval": panel(
        {"broadcast": {4 * K: 4.0}, "scatter": {4 * K: 2.0}},
        noise=dict.fromkeys(("broadcast", "scatter"), (1.0,)),
    ),
    "too few rounds that all agree": panel(
        {"broadcast": {4 * K: 4.0}, "scatter": {4 * K: 2.0}, "slow": {4 * K: 8.0}},
        noise=dict.fromkeys(("broadcast", "scatter", "slow"), FEW),
    ),
    "what should be incorrect does not win": panel(
        {"broadcast": {4 * K: 2.0}, "literal": {4 * K: 1.0}},
        expected={"literal": True},
        correctness={"literal": Correctness("exact", True, "whole")},
    ),
    "far from the bound on a GPU, and the plan says why": on_h100(
        {"grid": (64, 1), "waves": 0.0693}, broadcast=5e-5, scatter=1e-4
    ),
    "far from the bound on a GPU by a slow path": on_h100(
        {"instructions": {"mma": 96}}, broadcast=5e-5, scatter=1e-4
    ),
    "near the bound on a GPU": on_h100({"grid": (64, 1), "waves": 0.0693}, broadcast=2e-5, scatter=1.1e-5),
    "nothing timed": panel({"broadcast": {4 * K: "oom"}}),
    "a baseline that is not among them": panel({"scatter": {K: 1.0}, "threshold": {K: 2.0}}),
    "no baseline": panel({"scatter": {K: 1.0}, "threshold": {K: 2.0}}, None),
}


def test_answers_match_the_golden_file():
    said = {name: "\n".join([*answer(only), winner_line(only)]) for name, only in PANELS.items()}
    assert_golden("answers.txt", scenes(said))
    crossovers = PANELS["exact by fallback never crosses"].crossovers
    assert all(crossover.interpolated is None for crossover in crossovers)


SPOILER = "ValueError: n/a (needs ≥ 6 rounds; has 3); raise --memory or shorten the sequence"


@pytest.mark.parametrize("status", ["crashed", "unsupported", "unjudged"])
def test_an_implementations_own_reason_is_shown_unchanged_and_is_not_a_remedy(status):
    lost = record("scatter", 4 * K, status, reason=SPOILER, remedy="")
    results = results_of_records([record("broadcast", K, 2.0), record("scatter", K, 1.0), lost])
    (only,) = results.panels.values()
    assert answer(only)[-1] == f"Not run: scatter at 4Ki ({status})."
    assert SPOILER in cells.time(only.cases[-1]).notes
    assert f"scatter at 4Ki: {status}: {SPOILER}" in record_notes(CaseGrid.of(results))
