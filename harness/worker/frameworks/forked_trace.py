"""Tracing in a fork of the process, so that timed calls see nothing that the trace left behind.

Many callables cache what their first call makes, such as a mask; cached in a trace, it would be a fake
tensor. A trace that hangs or dies loses its figures only.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

import msgspec

from harness.core.static_figures import Static
from harness.worker import resource_limits

GRACE_SECONDS = 1.0  # a trace ends itself at its deadline, if it is in torch's hands then


def trace_in_fork(trace: Callable[[], Static], seconds: float) -> Static:
    """The figures of `trace`, run in a fork of this process; none, with the reason, if that fails."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(trace, writer)
    # As long as any process holds a writing end, a reader sees no end of the pipe (pipe(7)).
    os.close(writer)
    deadline = time.monotonic() + seconds + GRACE_SECONDS
    data = bytearray()
    try:
        while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                break
            data += chunk
        else:
            return Static.none(f"tracing it took more than {seconds:.2g} s; loop over fewer, larger tiles")
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    if not data:
        code = os.waitstatus_to_exitcode(status)
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return Static.none(f"tracing it over fake tensors ended the process ({how})")
    return msgspec.json.decode(bytes(data), type=Static)


def _answer(trace: Callable[[], Static], writer: int) -> None:
    """In the copy: write the figures and leave, whatever happens."""
    try:
        try:
            figures = trace()
        except BaseException as error:
            what = f"{type(error).__name__}: {resource_limits.message_of(error)}"
            figures = Static.none(f"fake tensors cannot trace it: {what}")
        with open(writer, "wb") as answer:
            answer.write(msgspec.json.encode(figures))
    finally:
        os._exit(1)
