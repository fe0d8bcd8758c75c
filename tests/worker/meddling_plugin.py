"""Implementations that are right, but meddle with what their process shares with others or with itself.

`OUTCOMES` says how each must end: its status and what it must be blamed for.
"""

from harness import implementation
from impls.topk.family import TopkWorkload

OUTCOMES = {
    "changes_group": ("ok", ""),
    "leaks": ("ok", ""),
    "leaves_a_child": ("ok", ""),
    "turns_the_clock": ("ok", ""),
    "rearranges": ("ok", ""),
}


def _exact(scores, k):
    import numpy as np

    indices = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, indices, -1), indices


@implementation(framework="numpy", semantics="exact")
def leaks(w: TopkWorkload):
    """Right, but leaves a thread behind."""
    import threading

    threading.Thread(target=threading.Event().wait, name="leaky", daemon=True).start()
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def leaves_a_child(w: TopkWorkload):
    """Right, but starts a process that leaves its group, its session and its parent."""
    import subprocess

    subprocess.run(["sh", "-c", "setsid sleep 1000 & sleep 1000 &"], check=True)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def turns_the_clock(w: TopkWorkload):
    """Right, but time stands still for whoever asks it by its usual names."""
    import time

    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def rearranges(w: TopkWorkload):
    """Right, but changes whatever a process shares with itself."""
    import gc
    import os
    import signal
    import sys

    import numpy as np

    os.chdir("/")
    os.environ.clear()
    np.seterr(all="raise")
    sys.stdout = sys.stderr = None
    sys.setrecursionlimit(200)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    gc.enable()
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def changes_group(w: TopkWorkload):
    """Right, but joins another process group, where signals for its own do not reach it."""
    import os

    os.setpgid(0, os.getpgid(os.getppid()))
    return lambda scores: _exact(scores, w.topk)
