"""Radix select: the k-th largest found digit by digit, from the most significant, in a count of 256 bins.

A pass counts the digits of the keys that are still undecided, takes those above the bin in which the
k-th lies, and goes on with that bin alone: nearly one pass over a row in all, or as many as a key has
bytes where all are equal (RadiK, arXiv 2501.14336). What is left at the end fills up by index.
"""

from harness import implementation

from .._radix import selection
from ..workload import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def radix(w: TopkWorkload):
    return selection(w, w.dtype)
