"""Radix select: find the k-th largest digit by digit, most significant first, by counts in 256 bins.

A pass counts the digits of the undecided keys, selects those above the k-th's bin, and continues with that
bin only. This is nearly one pass over a row in total, or as many passes as a key has bytes if all are equal
(RadiK, arXiv 2501.14336). Remaining places are filled in index order.
"""

from harness import implementation

from .._radix import selection
from ..workload import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def radix(w: TopkWorkload):
    return selection(w, w.dtype)
