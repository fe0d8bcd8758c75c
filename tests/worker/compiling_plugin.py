"""Two in torch: one that compiles at every call, and one that takes longer than its limit."""

import time

from harness import implementation
from impls.topk.family import TopkWorkload

SECONDS = 2.5


def _slow(w, announced):
    import torch
    from torch._dynamo.callback import CallbackTrigger, callback_handler

    def topk(scores):
        if announced:
            with callback_handler.install_callbacks(CallbackTrigger.DYNAMO, "0"):
                pass
        else:
            time.sleep(SECONDS)
        return torch.topk(scores, w.topk)

    return topk


@implementation(framework="torch", semantics="exact")
def compiles(w: TopkWorkload):
    """Says what torch.compile says when it begins and ends."""
    return _slow(w, announced=True)


@implementation(framework="torch", semantics="exact")
def dawdles(w: TopkWorkload):
    """Takes its time without a word."""
    return _slow(w, announced=False)
