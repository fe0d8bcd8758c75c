"""Correct results with forged times."""

from seqsweep import implementation
from shared_functions import largest, partitioned

from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def turns_back_python_clocks(w: TopkWorkload):
    """Replaces time.perf_counter, time.time and time.monotonic with clocks that do not move."""
    import time

    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    return lambda scores: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def calls_a_third(w: TopkWorkload):
    """Makes only a third of the calls of each sample."""
    from harness.worker import timers

    wall = timers.wall

    def hasty(sync):
        read = wall(sync)
        return lambda call, inner, *more: read(call, max(1, inner // 3), *more)

    timers.wall = hasty
    return lambda scores: partitioned(scores, w.topk)


@implementation(framework="jax", semantics="exact")
def never_waits(w: TopkWorkload):
    """Disables synchronisation, so that only the launch is timed."""
    from jax import lax

    from harness.worker.frameworks.jax.framework import Jax

    Jax.sync = lambda self, result: None
    return lambda scores: lax.top_k(scores, w.topk)
