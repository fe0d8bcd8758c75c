"""Right answers with a forged time."""

from rightly import largest, longer, partitioned
from seqsweep import implementation

from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def turns_back_python_clocks(w: TopkWorkload):
    """Replaces time.perf_counter, time.time and time.monotonic by clocks that stand still."""
    import time

    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    return lambda scores: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def slows_the_clock(w: TopkWorkload):
    """Replaces the clock that the harness reads by one that runs at 0.45 of the speed."""
    from harness.worker import timers

    clock = timers.perf_counter
    timers.perf_counter = lambda: 0.45 * clock()
    return lambda scores: longer(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def stops_the_clock(w: TopkWorkload):
    """Replaces the clock that the harness reads by one that runs at a hundredth of the speed."""
    from harness.worker import timers

    clock = timers.perf_counter
    timers.perf_counter = lambda: 0.01 * clock()
    return lambda scores: longer(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def scales_its_samples(w: TopkWorkload):
    """Multiplies what the harness has read by 0.4 before it is reported."""
    from harness.worker.case_worker import CaseWorker

    sample = CaseWorker.do_sample

    def scaled(self, *arguments, **named):
        answer = sample(self, *arguments, **named)
        return {**answer, "samples_s": [0.4 * seconds for seconds in answer["samples_s"]]}

    CaseWorker.do_sample = scaled
    return lambda scores: longer(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def shaves_a_quarter(w: TopkWorkload):
    """Multiplies the clock that the harness reads by three quarters."""
    from harness.worker import timers

    clock = timers.perf_counter
    timers.perf_counter = lambda: 0.75 * clock()
    return lambda scores: longer(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def calls_a_third(w: TopkWorkload):
    """Makes a third of the calls that a reading asks for."""
    from harness.worker import timers

    wall = timers.wall

    def hasty(sync):
        read = wall(sync)
        return lambda call, inner, *more: read(call, max(1, inner // 3), *more)

    timers.wall = hasty
    return lambda scores: partitioned(scores, w.topk)


@implementation(framework="jax", semantics="exact")
def never_waits(w: TopkWorkload):
    """Makes synchronising do nothing, so that only the launch of a program is timed."""
    from jax import lax

    from harness.worker.frameworks.jax.framework import Jax

    Jax.sync = lambda self, result: None
    return lambda scores: lax.top_k(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def shaves_a_tenth(w: TopkWorkload):
    """Multiplies the clock that the harness reads by nine tenths."""
    from harness.worker import timers

    clock = timers.perf_counter
    timers.perf_counter = lambda: 0.9 * clock()
    return lambda scores: longer(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def hurries_the_clock(w: TopkWorkload):
    """Multiplies the clock that the harness reads by three, as one does who wants a slow baseline."""
    from harness.worker import timers

    clock = timers.perf_counter
    timers.perf_counter = lambda: 3 * clock()
    return lambda scores: longer(scores, w.topk)
