"""Tracing in a fork of the process, so that timed calls see nothing that the trace left behind.

Many callables cache what their first call makes, such as a mask; cached in a trace, it would be a fake
tensor. A trace that hangs or dies costs the case only its static figures.
"""

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

from harness.core.shown_text import message_of
from harness.core.static_figures import Static

GRACE_SECONDS = 1.0
SHARED = 1.5  # wall time allowed per CPU second of a trace, since other processes run too


def trace_in_fork(trace: Callable[[], Static], seconds: float) -> Static:
    """The figures of `trace`, run in a fork of this process; none, with the reason, if that fails.

    A trace stops itself after `seconds` of CPU time, but only when it dispatches an operator; hence the
    timeout here.
    """
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(trace, writer))
    child.start()
    writer.close()  # or the reader would see no end of the pipe when the child dies (pipe(7))
    try:
        if not reader.poll(SHARED * seconds + GRACE_SECONDS):
            return Static.none(f"tracing it took more than {seconds:.2g} s; loop over fewer, larger tiles")
        return reader.recv()
    except EOFError:
        child.join()
        code = child.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return Static.none(f"tracing it over fake tensors ended the process ({how})")
    finally:
        reader.close()
        child.kill()
        child.join()


def _answer(trace: Callable[[], Static], writer: Connection) -> None:
    """In the fork: send the figures, or why there are none."""
    try:
        figures = trace()
    except BaseException as error:
        what = f"{type(error).__name__}: {message_of(error)}"
        figures = Static.none(f"fake tensors cannot trace it: {what}")
    writer.send(figures)
