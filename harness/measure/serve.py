"""The loop of a forked process: answer the runner's requests until it hangs up.

Whatever an implementation raises becomes an answer here; nothing it does can be a traceback.
"""

from __future__ import annotations

import socket
import traceback
from pathlib import Path
from typing import Any

from harness.measure import limits
from harness.measure.bench import Bench
from harness.measure.desk import Desk
from harness.spec import protocol
from harness.spec.errors import Unsupported


def serve(job: protocol.Job, end: socket.socket) -> None:
    limits.volunteer()
    limits.pin(job.threads)
    role: Bench | Desk = Bench(job) if job.role == "case" else Desk(job)
    while True:
        message, _ = protocol.receive(end)
        if message is None:
            return
        verb = message.pop("do")
        protocol.send(end, _answer(role, verb, message))


def _answer(role: Bench | Desk, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": getattr(role, f"do_{verb}")(**arguments)}
    except Unsupported as refusal:
        return {"unsupported": str(refusal)}
    except BaseException as error:
        kind = "oom" if limits.is_oom(error) else "crashed"
        return {"failed": {"kind": kind, "reason": sentence(error)}}


def sentence(error: BaseException) -> str:
    """The exception in one line, with the innermost place outside of the harness and frameworks."""
    text = " ".join(str(error).split())[:300]
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if "/harness/" not in frame.filename and "site-packages" not in frame.filename:
            place = f" ({Path(frame.filename).name}:{frame.lineno})"
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
