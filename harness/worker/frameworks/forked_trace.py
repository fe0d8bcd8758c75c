"""Tracing in a fork of the process, so that timed calls see nothing that the trace left behind.

Many callables cache what their first call makes, such as a mask; cached in a trace, it would be a fake
tensor. A trace that hangs or dies loses its figures only.
"""

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

from harness.core.shown_text import message_of
from harness.core.static_figures import Static

GRACE_SECONDS = 1.0
SHARED = 1.5  # times as long as the seconds of a processor that a trace may take, where others use it, too


def trace_in_fork(trace: Callable[[], Static], seconds: float) -> Static:
    """The figures of `trace`, run in a fork of this process; none, with the reason, if that fails.

    A trace ends itself after so many seconds of its processor, if it is in torch's hands then.
    """
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(trace, writer))
    child.start()
    writer.close()  # as long as any process holds a writing end, a reader sees no end of the pipe (pipe(7))
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
    """In the copy: send the figures, whatever happens."""
    try:
        figures = trace()
    except BaseException as error:
        what = f"{type(error).__name__}: {message_of(error)}"
        figures = Static.none(f"fake tensors cannot trace it: {what}")
    writer.send(figures)
