"""One that compiles at every call, and one that compiles for ever."""

import ctypes
from pathlib import Path

from harness import implementation
from impls.topk.family import TopkWorkload


@implementation(framework="torch", semantics="exact")
def compiles(w: TopkWorkload):
    """Says what torch.compile says when it begins and ends."""
    import torch
    from torch._dynamo.callback import CallbackTrigger, callback_handler

    def topk(scores):
        with callback_handler.install_callbacks(CallbackTrigger.DYNAMO, "0"):
            pass
        return torch.topk(scores, w.topk)

    return topk


@implementation(framework="jax", semantics="exact")
def never_compiles(w: TopkWorkload):
    """Waits in native code that keeps Python's lock, as a compiler may, and leaves a file beside this one."""

    def topk(scores):
        Path(__file__).with_name("compiles").touch()
        while True:
            ctypes.PyDLL(None).pause()

    return topk
