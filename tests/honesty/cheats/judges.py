"""A tight numeric bound in a file that replaces the verdict function when it is imported."""

import sys

from seqsweep import Judgement, implementation, within
from shared_functions import nothing

from impls.topk.family import TopkWorkload

for module in ("verify", "reference_worker"):
    if (loaded := sys.modules.get(f"harness.worker.{module}")) is not None:
        loaded.judge = lambda *_: Judgement(True, {"relative_rms": 0.0}, "")


@implementation(framework="numpy", semantics=within(rel_rms=1e-6))
def replaces_the_judge_when_loaded(w: TopkWorkload):
    """States a bound of 1e-6, returns zeros, and replaces the judge when its file is imported."""
    return lambda scores: nothing(scores, w.topk)
