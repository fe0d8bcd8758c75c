"""What is done to others: to rivals and to the judge."""

import gc
import os
import signal

import numpy as np
from rightly import frames, largest, nothing, worker
from seqsweep import implementation

from impls.topk.family import TopkWorkload


def runner():
    """The process that drives this one, by way of the server that forked it."""
    import psutil

    return psutil.Process().parent().parent()


@implementation(framework="numpy", semantics="exact")
def reads_a_rivals_result(w: TopkWorkload):
    """Returns the newest result that lies in the group's folder, whosever it is."""

    def select(scores):
        from harness.worker import array_files

        results = sorted(worker().folder.glob("result-*"), key=lambda path: path.stat().st_mtime)
        return array_files.read(results[-1], np.array) if results else nothing(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def names_another_folder(w: TopkWorkload):
    """Hands over a folder outside of the run's own as its result; once judged, results are removed."""
    from harness.worker import array_files
    from harness.worker.case_worker import CaseWorker

    def elsewhere(self, result, *_):
        folder = self.folder.parents[1] / "keepsake"
        array_files.write(folder, result)
        return str(folder)

    CaseWorker._hand_over = elsewhere
    return lambda scores: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def answers_before_it_is_asked(w: TopkWorkload):
    """Sends readings of a nanosecond to the runner while its own are still being taken."""
    sent = []

    def select(scores):
        from harness.core import protocol

        above = {frame.f_code.co_name: frame.f_locals for frame in frames()}
        if (turn := above.get("do_sample")) and turn["start"] not in sent:
            sent.append(turn["start"])
            forged = {
                "samples_s": [1e-9] * turn["readings"],
                "seconds": 0.1,
                "compiled": 0,
                "queued": None,
                "latency_s": None,
            }
            protocol.send(above["serve"]["end"], {"ok": forged})
        return largest(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def answers_nonsense(w: TopkWorkload):
    """Reports readings that are no numbers."""
    from harness.worker.case_worker import CaseWorker

    CaseWorker.do_sample = lambda self, **_: {"samples_s": ["fast"], "seconds": 0.1, "compiled": 0}
    return lambda scores: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def kills_its_judge(w: TopkWorkload):
    """Kills every other worker of the run once it has been judged right, and does nothing from then on."""
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
def slows_its_rivals_module(w: TopkWorkload):
    """Makes the rival's code sleep, in the process that it shares with nobody."""
    import time

    np.argpartition = lambda *_, **__: time.sleep(1.0)
    return lambda scores: largest(scores, w.topk)
