"""Outcomes for tests: one case of every verdict, with chosen figures."""

import io
import math

from rich.console import Console

from harness.gate.outcome import (
    IMPROVED,
    INCORRECT,
    INVALID,
    NEW,
    NOT_ENOUGH,
    REGRESSED,
    STATIC,
    TIME,
    UNCHANGED,
    VANISHED,
    CaseVerdict,
    GateOutcome,
)
from harness.gate.timed.decision import CaseEvidence

BASE = "git:3d602ab (merge base with origin/main)"
SPREAD = "12 pairs spread by 6 %: raise --max-pairs"
LONE = {
    "reason": "more than 2.5 % slower, on fresh pairs too",
    "notes": ("isolated: the adjacent lengths are unchanged",),
    "file": "/checkout/impls/mask/scatter.py",
    "line": 12,
}
DIFFER = "the sides' outputs differ"
WRONG = "2 of 128 rows | differ from the reference"


def case_id(name, seq, topk=2048, mode="fwd"):
    return f"{name}@batch=1,dtype=f32,rows=128,seq={seq},topk={topk}:{mode}:cpu"


def verdict_of(case, verdict, low, middle, high, pairs=6, **more):
    """A verdict with its change and bounds in percent."""
    effect, low, high = (math.log1p(value / 100) for value in (middle, low, high))
    more.setdefault("reason", f"{verdict}, with a remedy")
    return CaseVerdict(case, verdict, effect=effect, low=low, high=high, pairs=pairs, **more)


def every_verdict():
    return (
        verdict_of(case_id("mask/scatter", 4096), UNCHANGED, -0.9, 0.2, 1.3, 4),
        verdict_of(case_id("mask/scatter", 16384), REGRESSED, 3.2, 5.1, 7.0, **LONE),
        verdict_of(case_id("mask/scatter", 65536), IMPROVED, -12, -9.5, -7.1),
        verdict_of(case_id("mask/broadcast", 4096), UNCHANGED, -1.2, -0.3, 0.6, 4),
        verdict_of(case_id("mask/broadcast", 16384), NOT_ENOUGH, -1.0, 3.4, 8.0, 12, reason=SPREAD),
        CaseVerdict(case_id("mask/two_stage[buckets=4096,keep=2]", 4096), NEW, "the base does not have it"),
        CaseVerdict(case_id("topk/exact", 4096, 64), INCORRECT, WRONG, file="impls/topk/exact.py", line=7),
        CaseVerdict(case_id("topk/exact", 4096), INVALID, DIFFER, file="/elsewhere/exact.py", line=7),
        CaseVerdict(case_id("topk/approx", 4096, 64), VANISHED, "the working tree does not have it"),
    )


LEFT_OUT = {
    case_id("mask/broadcast", 65536): "predicted 6.2 s a call: raise --budget",
    case_id("mask/broadcast", 131072): "predicted 6.2 s a call: raise --budget",
    case_id("topk/exact", 131072): "the compiler plans 32.0 GiB; the limit is 18 GiB",
}


def outcome_of(cases=None, **more):
    left_out = LEFT_OUT if cases is None else {}
    slowdown = {"mask": 0.05, "topk": 0.05}
    values = {"kind": TIME, "base": BASE, "slowdown": slowdown, "left_out": left_out, "wall_s": 61.5, **more}
    return GateOutcome(cases=every_verdict() if cases is None else tuple(cases), **values)


def static_outcome():
    reason = "temp 8.00 KiB → 16.0 KiB (+100 %), FLOPs as before"
    cases = (
        CaseVerdict(case_id("mask/scatter", 4096), UNCHANGED, "all figures as before"),
        CaseVerdict(case_id("mask/scatter", 16384), REGRESSED, reason),
        CaseVerdict(case_id("mask/broadcast", 4096), IMPROVED, "FLOPs 2.15e9 → 1.07e9 (−50 %)"),
    )
    return outcome_of(cases, kind=STATIC, base=BASE)


SLOWER = verdict_of(case_id("mask/scatter", 16384), REGRESSED, 4.2, 5.2, 6.2, 4)


def evidence_on(case=SLOWER, **more):
    """A verdict and its evidence."""
    first = (0.048, 0.051, 0.055, 0.050)
    fresh = (0.049, 0.052, 0.047, 0.053)
    rounds = tuple(tuple(effect + step for step in (-0.02, 0.0, 0.02)) for effect in (*first, *fresh))
    values = {
        "slowdown": 0.05,
        "first": first,
        "fresh": fresh,
        "rounds": rounds,
        "levels_s": ((0.0252, 0.024),) * 8,
        "same_program": False,
        **more,
    }
    return case, CaseEvidence(**values)


def page(write, thing, width=120):
    """What `write(console, thing)` prints, at a width and without colour."""
    out = io.StringIO()
    things = thing if isinstance(thing, tuple) else (thing,)
    write(Console(file=out, width=width, highlight=False), *things)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
