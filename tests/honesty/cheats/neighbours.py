"""Effects on other processes: the reference worker, and processes on the machine's other cores."""

import gc
import os
import signal

import numpy as np
from seqsweep import implementation
from shared_functions import largest, nothing

from impls.topk.family import TopkWorkload


def runner():
    """The runner, which is the parent of this process's fork server."""
    import psutil

    return psutil.Process().parent().parent()


@implementation(framework="numpy", semantics="exact")
def answers_nonsense(w: TopkWorkload):
    """Reports samples that are not numbers."""
    from harness.worker.case_worker import CaseWorker

    CaseWorker.do_sample = lambda self, **_: {"samples_s": ["fast"], "seconds": 0.1, "compiled": 0}
    return lambda scores: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def kills_its_judge(w: TopkWorkload):
    """Passes, then kills every other worker and computes nothing."""
    calls = []

    def select(scores):
        if gc.isenabled() and not calls:
            return largest(scores, w.topk)
        if not calls:
            calls.append(True)
            for server in runner().children():
                for process in server.children():
                    if process.pid != os.getpid():
                        process.send_signal(signal.SIGKILL)
        return nothing(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def leaves_its_cores(w: TopkWorkload):
    """Runs on every core of the machine."""
    from concurrent.futures import ThreadPoolExecutor

    cores = range(os.cpu_count() or 1)
    os.sched_setaffinity(0, cores)
    pool = ThreadPoolExecutor(len(cores))

    def select(scores):
        parts = np.array_split(scores, len(cores), axis=1)
        answers = list(pool.map(lambda part: largest(part, w.topk), parts))
        return tuple(np.concatenate(pieces, axis=1) for pieces in zip(*answers, strict=True))

    return select
