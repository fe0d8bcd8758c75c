"""A tight bound of its author's, and no judge to hold it to: a file that changes whoever loads it."""

import sys

from rightly import nothing
from seqsweep import Judgement, implementation, within

from impls.topk.family import TopkWorkload

for module in ("verify", "reference_worker"):
    if (loaded := sys.modules.get(f"harness.worker.{module}")) is not None:
        loaded.judge = lambda *_: Judgement(True, {"relative_rms": 0.0}, "")


@implementation(framework="numpy", semantics=within(rel_rms=1e-6))
def replaces_the_judge_when_loaded(w: TopkWorkload):
    """States a bound of 1e-6, returns zeros, and replaces the judge when its file is imported."""
    return lambda scores: nothing(scores, w.topk)
