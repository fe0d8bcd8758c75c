"""Right answers with a forged time."""

from rightly import largest, partitioned
from seqsweep import implementation

from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def turns_back_python_clocks(w: TopkWorkload):
    """Replaces time.perf_counter, time.time and time.monotonic with clocks that do not move."""
    import time

    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    return lambda scores: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def calls_a_third(w: TopkWorkload):
    """Makes a third of the calls that a reading requests."""
    from harness.worker import timers

    wall = timers.wall

    def hasty(sync):
        read = wall(sync)
        return lambda call, inner, *more: read(call, max(1, inner // 3), *more)

    timers.wall = hasty
    return lambda scores: partitioned(scores, w.topk)


@implementation(framework="jax", semantics="exact")
def never_waits(w: TopkWorkload):
    """Makes synchronisation do nothing, so that only the launch is timed."""
    from jax import lax

    from harness.worker.frameworks.jax.framework import Jax

    Jax.sync = lambda self, result: None
    return lambda scores: lax.top_k(scores, w.topk)
