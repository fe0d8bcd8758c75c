"""Right where it is judged, and nothing done where it is timed."""

import time

from rightly import frames, largest, nothing
from seqsweep import implementation

from impls.topk.family import TopkWorkload

JUDGING = {"do_check", "do_recheck", "do_examine"}
KEEPING = ("fresh", "keep")


@implementation(framework="numpy", semantics="exact")
def reads_the_stack(w: TopkWorkload):
    """Looks among its callers for the functions that judge."""

    def select(scores):
        judged = any(frame.f_code.co_name in JUDGING for frame in frames())
        return (largest if judged else nothing)(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def reads_its_callers_variables(w: TopkWorkload):
    """Looks among the variables of its callers for one that says that this answer is kept."""

    def is_kept(frame):
        return frame.f_code.co_name in JUDGING or any(frame.f_locals.get(name) for name in KEEPING)

    def select(scores):
        return (largest if any(map(is_kept, frames())) else nothing)(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def works_once(w: TopkWorkload):
    """Computes its first answer, and does nothing ever after."""
    calls = []

    def select(scores):
        calls.append(True)
        return (largest if len(calls) == 1 else nothing)(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def rests_in_a_window(w: TopkWorkload):
    """Is idle in its 16th to 60th call, and takes a fifth of the time of its work there."""
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
    """Returns empty tensors where its operators are counted and no values are there."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    def select(scores):
        if isinstance(scores, FakeTensor):
            size = (*scores.shape[:-1], w.topk)
            return scores.new_empty(size), scores.new_empty(size, dtype=torch.int64)
        return tuple(scores.sort(-1, descending=True)[part][..., : w.topk] for part in (0, 1))

    return select
