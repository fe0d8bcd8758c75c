"""An implementation that compiles at every call, and one that compiles endlessly."""

import ctypes
from pathlib import Path

from harness import implementation
from impls.topk.family import TopkWorkload


@implementation(framework="torch", semantics="exact")
def compiles(w: TopkWorkload):
    """Reports the start and end of a compilation like torch.compile."""
    import torch
    from torch._dynamo.callback import CallbackTrigger, callback_handler

    def topk(scores):
        with callback_handler.install_callbacks(CallbackTrigger.DYNAMO, "0"):
            pass
        return torch.topk(scores, w.topk)

    return topk


@implementation(framework="jax", semantics="exact")
def never_compiles(w: TopkWorkload):
    """Waits in native code that holds the GIL, like some compilers, and writes a file next to this one."""

    def topk(scores):
        Path(__file__).with_name("compiles").touch()
        while True:
            ctypes.PyDLL(None).pause()

    return topk
