"""Request loop of a forked worker: replies to the runner's requests until the runner closes the socket.

Any exception of an implementation becomes a reply.
"""

import os
import socket
import sys
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from harness.catalog.known_frameworks import traits_of
from harness.core import protocol
from harness.core.errors import FamilyFault, ScratchFull, SideError, Unsupported
from harness.core.paths import PACKAGE
from harness.core.shown_text import message_of
from harness.worker import resource_limits
from harness.worker.case_worker import CaseWorker
from harness.worker.reference_worker import ReferenceWorker
from harness.worker.side_worker import SideWorker

STANDARD = sysconfig.get_path("stdlib")
HARNESS = str(PACKAGE)
LIBRARIES = ("/site-packages/", "/dist-packages/")
COMPILER = "target"  # role of a process that cross-compiles
TRACEBACK_CHARS = 100_000  # a reply is one packet
FORKED = 71  # exit status of a worker's copy after an implementation called fork


def serve(job: protocol.Job, end: socket.socket) -> None:
    resource_limits.prefer_oom_kill()
    # Both sides of a gate compile concurrently, like a pool's workers, so each gets other cores.
    resource_limits.pin(job.threads, first=job.core, last=job.side == "base")
    role = _role(job, lambda begins: protocol.send(end, {"compiling": begins}))
    pid = os.getpid()
    while True:
        message, _ = protocol.receive(end)
        if message is None:
            return
        verb = message.pop("do")
        answer = _answer(role, verb, message)
        if os.getpid() != pid:  # an implementation forked this copy: only the original may reply
            os._exit(FORKED)
        try:
            protocol.send(end, answer)
        except (TypeError, ValueError, OSError) as error:  # not JSON, or too large for a packet
            protocol.send(end, _failure_answer(error))


def _role(job: protocol.Job, report_compiling: Callable[[bool], None]) -> Any:
    if job.role == COMPILER:
        # Imported here, because it imports its framework, which other roles do not need.
        return resolve_name(traits_of(job.framework).cross_compiler)(job)
    if job.role == "reference":
        return ReferenceWorker(job)
    return {"case": CaseWorker, "side": SideWorker}[job.role](job, report_compiling)


def _answer(role: Any, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": getattr(role, f"do_{verb}")(**arguments)}
    except Unsupported as refusal:
        return {"unsupported": message_of(refusal)}
    except SideError as error:
        return {"misplaced": message_of(error)}
    except ScratchFull as error:
        return {"scratch_full": message_of(error)}
    except BaseException as error:
        # After a MemoryError there may be no memory for its message.
        with resource_limits.lift_memory_cap():
            return _failure_answer(error)


def _failure_answer(error: BaseException) -> dict[str, Any]:
    kind = "unjudged" if isinstance(error, FamilyFault) else "crashed"
    kind = "oom" if resource_limits.is_oom(error) else kind
    failed = {"kind": kind, "reason": sentence(error), "traceback": _traceback(error)}
    with suppress(Exception):  # an implementation may have replaced sys.stdout
        sys.stdout.flush()  # the output is stored with the traceback
    return {"failed": failed}


def _traceback(error: BaseException) -> str:
    """The exception with its frames, causes and notes; only the end of a very long one."""
    try:
        return "".join(traceback.format_exception(error))[-TRACEBACK_CHARS:].encode(errors="replace").decode()
    except Exception:  # formatting a custom exception may raise
        return ""


def sentence(error: BaseException) -> str:
    """The exception in one line, with the innermost frame outside of the harness and libraries."""
    if isinstance(error, FamilyFault) and error.__cause__ is not None:
        return ": ".join(filter(None, [str(error), sentence(error.__cause__)]))
    text, place = message_of(error), ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if not path.startswith(("<", STANDARD, HARNESS)) and not any(part in path for part in LIBRARIES):
            place = f" ({Path(path).name}:{line})"
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
