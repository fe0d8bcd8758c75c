"""Correct torch implementations that cache state in their first call, or cannot be traced."""

from harness import implementation
from impls.topk.family import TopkWorkload

UNAVAILABLE = {
    "keeps": None,
    "dies_when_traced": "tracing over fake tensors ended the process (SIGABRT)",
    "hangs_when_traced": "tracing took more than 1 s",
}


def _exact(scores, k):
    import torch

    return torch.topk(scores, k, -1)


def _is_fake(tensor):
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


@implementation(framework="torch", semantics="exact")
def keeps(w: TopkWorkload):
    """Caches its constants at the first call."""
    kept = []

    def topk(scores):
        if not kept:
            kept.append(scores.new_zeros(scores.shape[-1]))
        return _exact(scores + kept[0], w.topk)

    return topk


def _when_traced(w, what):
    def topk(scores):
        if _is_fake(scores):
            what()
        return _exact(scores, w.topk)

    return topk


@implementation(framework="torch", semantics="exact")
def dies_when_traced(w: TopkWorkload):
    import os

    return _when_traced(w, os.abort)


@implementation(framework="torch", semantics="exact")
def hangs_when_traced(w: TopkWorkload):
    import threading

    return _when_traced(w, threading.Event().wait)
