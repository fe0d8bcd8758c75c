"""Correct results when checked, and no work when timed."""

import gc
import time

from seqsweep import implementation
from shared_functions import frames, largest, nothing, partitioned

from impls.topk.family import TopkWorkload

JUDGING = {"do_check", "do_recheck", "do_examine"}
KEEPING = ("fresh", "keep")


@implementation(framework="numpy", semantics="exact")
def asks_the_collector(w: TopkWorkload):
    """Repeats its last result while the garbage collector is off, as it is during timing."""
    answers = []

    def select(scores):
        if gc.isenabled() or not answers:
            answers[:] = [largest(scores, w.topk)]
        return answers[0]

    return select


@implementation(framework="numpy", semantics="exact")
def reads_the_stack(w: TopkWorkload):
    """Looks for the checking functions among its callers."""

    def select(scores):
        judged = any(frame.f_code.co_name in JUDGING for frame in frames())
        return (largest if judged else nothing)(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def reads_its_callers_variables(w: TopkWorkload):
    """Reads its callers' variables to find out whether this result will be checked."""

    def is_kept(frame):
        return frame.f_code.co_name in JUDGING or any(frame.f_locals.get(name) for name in KEEPING)

    def select(scores):
        return (largest if any(map(is_kept, frames())) else nothing)(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def works_once(w: TopkWorkload):
    """Computes its first result, and nothing afterwards."""
    calls = []

    def select(scores):
        calls.append(True)
        return (largest if len(calls) == 1 else nothing)(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def waits_for_a_rhythm(w: TopkWorkload):
    """Treats calls as warm-up until ten are equally long, and computes nothing afterwards."""
    lengths = []

    def select(scores):
        if len(lengths) >= 10 and max(lengths[-10:]) < 10 * min(lengths[-10:]):
            return nothing(scores, w.topk)
        start = time.perf_counter()
        answer = partitioned(scores, w.topk)
        lengths.append(time.perf_counter() - start)
        return answer

    return select


@implementation(framework="numpy", semantics="exact")
def rests_in_a_window(w: TopkWorkload):
    """Computes nothing in calls 16 to 60, which take a fifth of the time."""
    calls = []

    def select(scores):
        calls.append(True)
        if 16 <= len(calls) <= 60:
            time.sleep(0.004)
            return nothing(scores, w.topk)
        time.sleep(0.02)
        return largest(scores, w.topk)

    return select


@implementation(framework="torch", semantics="exact")
def tells_a_trace_from_a_run(w: TopkWorkload):
    """Returns empty tensors while its operators are traced."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    def select(scores):
        if isinstance(scores, FakeTensor):
            size = (*scores.shape[:-1], w.topk)
            return scores.new_empty(size), scores.new_empty(size, dtype=torch.int64)
        return tuple(scores.sort(-1, descending=True)[part][..., : w.topk] for part in (0, 1))

    return select


@implementation(framework="numpy", semantics="exact")
def works_while_garbage_is_collected(w: TopkWorkload):
    """Prepares its results when the garbage collector runs, which is before every turn."""
    known = {}

    def answer(phase, _):
        if phase == "stop":
            for each in known.values():
                each[1:] = each[0][0, 0, :4].tobytes(), largest(each[0], w.topk)

    def select(scores):
        if id(scores) not in known:
            known[id(scores)] = [scores, scores[0, 0, :4].tobytes(), largest(scores, w.topk)]
        _, key, ready = known[id(scores)]
        return (
            tuple(part.copy() for part in ready)
            if key == scores[0, 0, :4].tobytes()
            else largest(scores, w.topk)
        )

    gc.callbacks.append(answer)
    return select
