"""The honest work that some cheats do as well: what their time is compared with."""

from rightly import largest
from seqsweep import implementation

from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def sorts_whole_rows(w: TopkWorkload):
    """Sorts whole rows, as most cheats here do where they are watched."""
    return lambda scores: largest(scores, w.topk)
