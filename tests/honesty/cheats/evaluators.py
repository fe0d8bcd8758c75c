"""Changes to the evaluator from within: to what checks and what reports."""

import numpy as np
from seqsweep import Judgement, implementation
from shared_functions import largest, nothing

from impls.topk.family import TopkWorkload


def always(*_, **__):
    return True


@implementation(framework="numpy", semantics="exact")
def replaces_comparisons(w: TopkWorkload):
    """Makes numpy's comparisons return true, and returns zeros."""
    np.allclose = np.isclose = np.array_equal = always
    np.testing.assert_allclose = np.testing.assert_array_equal = always
    return lambda scores: nothing(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def replaces_the_judge(w: TopkWorkload):
    """Replaces the harness's verdict function, and returns zeros."""
    from harness.worker import reference_worker, verify

    verify.judge = reference_worker.judge = lambda *_: Judgement(True, {}, "")
    return lambda scores: nothing(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def sorts_its_input(w: TopkWorkload):
    """Sorts its input in place, so that later calls find it sorted."""

    def select(scores):
        answer = largest(scores, w.topk)
        scores.sort(axis=-1)
        return answer

    return select


@implementation(framework="numpy", semantics="exact")
def overwrites_its_last_answer(w: TopkWorkload):
    """Returns the same buffer from every call."""
    kept = []

    def select(scores):
        answer = largest(scores, w.topk)
        if not kept:
            kept.extend(answer)
        for mine, new in zip(kept, answer, strict=True):
            mine[:] = new
        return tuple(kept)

    return select


@implementation(framework="torch", semantics="exact")
def forges_its_figures(w: TopkWorkload):
    """Replaces the trace that counts its memory and FLOPs."""
    from dataclasses import replace

    from harness.worker.frameworks.torch.framework import Torch

    prepare = Torch.prepare

    def forged(self, *arguments):
        prepared = prepare(self, *arguments)
        return replace(prepared, static=replace(prepared.static, temp_bytes=0, flops=1.0))

    Torch.prepare = forged
    return lambda scores: tuple(scores.topk(w.topk))


@implementation(framework="numpy", semantics="exact")
def reports_no_memory(w: TopkWorkload):
    """Allocates 64 MiB per call, and replaces the function that reads the peak."""
    from harness.worker.frameworks.numpy import Numpy

    Numpy.track_peak = lambda _: lambda: 0

    def select(scores):
        np.ones(1 << 23)
        return largest(scores, w.topk)

    return select
