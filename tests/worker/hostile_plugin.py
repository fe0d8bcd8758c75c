"""Misbehaving implementations, and one that behaves.

`OUTCOMES` has the expected status of each and a part of its reason. `ok` means a correct result, with any
side effects.
"""

from harness import implementation
from impls.topk.family import TopkWorkload

OUTCOMES = {
    "behaves": ("ok", ""),
    "hangs": ("timeout", "no reply within"),
    "stops_itself": ("timeout", "no reply within"),
    "devours": ("oom", "Unable to allocate"),
    "pretends": ("oom", "the result has 1024 TiB"),
    "aborts": ("crashed", "SIGABRT"),
    "interrupts": ("crashed", "KeyboardInterrupt (hostile_plugin.py:"),
    "raises": ("crashed", "RuntimeError: no such luck (hostile_plugin.py:"),
    "closes_descriptors": ("crashed", ""),
    "misplaces_itself": ("crashed", "SideError: I am the other side"),
    "answers_nan": ("crashed", 'it replied to "sample" in an invalid form (a figure is nan)'),
    "announces_compilations": ("timeout", "no reply within"),
}
# Correct, but they change state that is shared in or between processes.
MEDDLING = ("changes_group", "leaks", "leaves_a_child", "turns_the_clock", "rearranges")
OUTCOMES |= dict.fromkeys(MEDDLING, ("ok", ""))


def _exact(scores, k):
    import numpy as np

    indices = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, indices, -1), indices


@implementation(framework="numpy", semantics="exact")
def behaves(w: TopkWorkload):
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def hangs(w: TopkWorkload):
    """Sleeps in C code, which blocks Python signal handlers."""
    import ctypes

    return lambda scores: ctypes.CDLL(None).sleep(1_000_000)


@implementation(framework="numpy", semantics="exact")
def stops_itself(w: TopkWorkload):
    import os
    import signal

    return lambda scores: os.kill(os.getpid(), signal.SIGSTOP)


@implementation(framework="numpy", semantics="exact")
def aborts(w: TopkWorkload):
    import os

    return lambda scores: os.abort()


@implementation(framework="numpy", semantics="exact")
def devours(w: TopkWorkload):
    """Allocates endlessly."""

    def topk(scores):
        import numpy as np

        kept = []
        while True:
            kept.append(np.ones(1 << 22))

    return topk


@implementation(framework="numpy", semantics="exact")
def pretends(w: TopkWorkload):
    """Returns a huge array that is one repeated element."""

    def topk(scores):
        import numpy as np

        return np.broadcast_to(np.zeros((), np.uint8), (1 << 25, 1 << 25))

    return topk


@implementation(framework="numpy", semantics="exact")
def interrupts(w: TopkWorkload):
    def topk(scores):
        raise KeyboardInterrupt

    return topk


@implementation(framework="numpy", semantics="exact")
def raises(w: TopkWorkload):
    def topk(scores):
        raise RuntimeError("no such luck")

    return topk


@implementation(framework="numpy", semantics="exact")
def closes_descriptors(w: TopkWorkload):
    import os

    return lambda scores: os.closerange(0, 1000)


@implementation(framework="numpy", semantics="exact")
def chatters(w: TopkWorkload):
    """Prints endlessly."""

    def topk(scores):
        while True:
            print("x" * (1 << 20))

    return topk


@implementation(framework="numpy", semantics="exact")
def misplaces_itself(w: TopkWorkload):
    """Raises an error that only a side of a gate may raise."""
    from harness.core.errors import SideError

    raise SideError("I am the other side")


@implementation(framework="numpy", semantics="exact")
def answers_nan(w: TopkWorkload):
    from harness.worker.case_worker import CaseWorker

    CaseWorker.do_sample = lambda *_, **__: {"samples_s": [float("nan")], "seconds": 1.0, "compiled": 0}
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def announces_compilations(w: TopkWorkload):
    """Reports endlessly that a compilation has ended, so that the runner always has a message."""
    import gc

    from harness.worker.case_worker import CaseWorker

    def topk(scores):
        (worker,) = (each for each in gc.get_objects() if isinstance(each, CaseWorker))
        while True:
            worker.report_compiling(False)

    return topk


@implementation(framework="numpy", semantics="exact")
def finds_no_space(w: TopkWorkload):
    """Limits its process to files of 64 bytes, like a full disk."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def leaks(w: TopkWorkload):
    """Correct, but leaves a thread running."""
    import threading

    threading.Thread(target=threading.Event().wait, name="leaky", daemon=True).start()
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def leaves_a_child(w: TopkWorkload):
    """Correct, but starts a process that leaves its group, session and parent."""
    import subprocess

    subprocess.run(["sh", "-c", "setsid sleep 1000 & sleep 1000 &"], check=True)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def turns_the_clock(w: TopkWorkload):
    """Correct, but stops Python's clock functions."""
    import time

    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def rearranges(w: TopkWorkload):
    """Correct, but changes state that its process shares with later calls."""
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
    """Correct, but joins another process group, which signals do not reach."""
    import os

    os.setpgid(0, os.getpgid(os.getppid()))
    return lambda scores: _exact(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def raises_aloud(w: TopkWorkload):
    def topk(scores):
        print("about to raise", scores.shape)
        try:
            raise KeyError("the cause")
        except KeyError as cause:
            raise ValueError("the effect") from cause

    return topk


@implementation(framework="numpy", semantics="exact")
def leaves_aloud(w: TopkWorkload):
    import os

    def topk(scores):
        print("about to leave")
        os._exit(3)

    return topk
