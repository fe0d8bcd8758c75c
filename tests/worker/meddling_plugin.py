"""Implementations that are right, but meddle with what their process shares with others or with itself.

`OUTCOMES` says how each must end: its status and what it must be blamed for.
"""

from harness import implementation
from impls.topk.family import TopkWorkload

OUTCOMES = {
    "changes_group": ("ok", ""),
    "leaks": ("ok", "leaky"),
    "leaks_below": ("ok", "unnamed, in "),
    "leaves_a_child": ("ok", "sleep ("),
    "leaves_shared_memory": ("ok", "2.00 MiB of shared memory (/dev/shm/"),
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
def leaks_below(w: TopkWorkload):
    """Right, but leaves a thread behind that the threading module does not know."""
    import _thread
    import threading

    _thread.start_new_thread(threading.Event().wait, ())
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def leaves_a_child(w: TopkWorkload):
    """Right, but starts a process that leaves its group, its session and its parent."""
    import subprocess

    subprocess.run(["sh", "-c", "setsid sleep 1000 & sleep 1000 &"], check=True)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def leaves_shared_memory(w: TopkWorkload):
    """Right, but keeps two segments: one of 2 MiB, and one that it has unlinked."""
    import os
    from multiprocessing.shared_memory import SharedMemory

    name = f"seqsweep-{os.environ['SEQSWEEP_TEST_RUN']}-{os.getpid()}"  # whoever tests it removes it
    kept = SharedMemory(name, create=True, size=2 << 20)
    unlinked = SharedMemory(create=True, size=4 << 20)
    unlinked.unlink()
    return lambda scores: _exact(scores + 0 * len(kept.buf[:1]) * len(unlinked.buf[:1]), w.topk)


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
