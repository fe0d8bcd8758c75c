"""Implementations that misbehave, each in its own way, beside one that does not."""

from harness import implementation
from impls.topk.family import TopkWorkload


def _exact(scores, k):
    import numpy as np

    indices = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, indices, -1), indices


@implementation(framework="numpy", semantics="exact")
def hangs(w: TopkWorkload):
    """Sleeps in C code, where no Python signal handler runs."""
    import ctypes

    return lambda scores: ctypes.CDLL(None).sleep(1_000_000)


@implementation(framework="numpy", semantics="exact")
def aborts(w: TopkWorkload):
    import os

    return lambda scores: os.abort()


@implementation(framework="numpy", semantics="exact")
def devours(w: TopkWorkload):
    """Allocates without end."""

    def topk(scores):
        import numpy as np

        kept = []
        while True:
            kept.append(np.ones(1 << 22))

    return topk


@implementation(framework="numpy", semantics="exact")
def errs(w: TopkWorkload):
    """One wrong element."""

    def topk(scores):
        values, indices = _exact(scores, w.topk)
        indices[0, -1, -1] = indices[0, -1, 0]
        return values, indices

    return topk


@implementation(framework="numpy", semantics="exact")
def raises(w: TopkWorkload):
    def topk(scores):
        raise RuntimeError("no such luck")

    return topk


@implementation(framework="numpy", semantics="exact")
def leaks(w: TopkWorkload):
    """Right, but leaves a thread behind."""
    import threading

    threading.Thread(target=threading.Event().wait, name="leaky", daemon=True).start()
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def remembers(w: TopkWorkload):
    """Answers from memory after its first call."""
    memory = {}

    def topk(scores):
        key = id(scores)
        if key not in memory:
            memory[key] = _exact(scores, w.topk)
        return memory[key]

    return topk


@implementation(framework="numpy", semantics="exact")
def spoils(w: TopkWorkload):
    """Sorts its input in place."""

    def topk(scores):
        answer = _exact(scores, w.topk)
        scores.sort(axis=-1)
        return answer

    return topk


@implementation(framework="torch", semantics="exact")
def devours_in_torch(w: TopkWorkload):
    """Allocates without end, on fake tensors too."""

    def topk(scores):
        import torch

        kept = []
        while True:
            kept.append(torch.ones(1 << 22))

    return topk


@implementation(framework="jax", semantics="exact")
def calls_out(w: TopkWorkload):
    """Leaves the process from within a compiled program."""

    def topk(scores):
        import os

        import jax

        def leave(x):
            os._exit(3)

        return jax.pure_callback(leave, jax.ShapeDtypeStruct(scores.shape, scores.dtype), scores)

    return topk
