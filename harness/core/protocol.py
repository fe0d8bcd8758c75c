"""The protocol between the runner and its processes: one JSON object per packet.

The runner and the measuring processes share no code above this layer. Requests are `{"do": …}`;
what comes back is one of the fields of :class:`harness.core.answer_forms.Reply`. Before it a worker may
say `{"compiling": true}`, and `false` when that has ended: a compiler's time has a limit of its own.
"""

from __future__ import annotations

import array
import json
import select
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.core.case import Case

PACKET = 1 << 20


@dataclass(frozen=True)
class Job:
    """The job of a process, given at its fork.

    `role` is `case` (measures one case), `reference` (draws a group's inputs, computes references and
    verifies results), `side` (one side of a gate: it holds several cases, each with a job of its own) or
    `target` (compiles cases for targets that are not at hand, each with a job of its own).
    `case` is what it measures or judges, and `folder` holds its group's arrays. `module` is where the
    implementation is loaded from; a reference worker finds its family through it. In a gate `side` says
    whose code it is, and `within` is the folder that the module must come from. Its `threads` cores begin
    with the `core`-th that it may use.
    """

    role: str
    framework: str
    module: str
    case: Case
    group: str
    folder: str
    seed: int
    threads: int
    memory_bytes: int
    side: str | None = None
    within: str | None = None
    core: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "case": self.case.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """Read what :meth:`to_json` wrote."""
        values: dict[str, Any] = {**data, "case": Case.of(**data["case"])}
        return cls(**values)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends that keep packets whole."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (left, right):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PACKET)
    return left, right


def send(end: socket.socket, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    end.sendmsg([json.dumps(message).encode()], ancillary)


def has_message(end: socket.socket, seconds: float) -> bool:
    """Whether, within so many seconds, there is a message to receive or the other end has closed."""
    # Not select(2), which takes no descriptor from 1024 on: a group may have as many processes.
    waiting = select.poll()
    waiting.register(end, select.POLLIN)
    return bool(waiting.poll(1000 * seconds))


def receive(end: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """(message, descriptors); the message is None where the other end has closed, or sent no JSON object."""
    fds = array.array("i")
    try:
        data, ancillary, _, _ = end.recvmsg(PACKET, socket.CMSG_LEN(4 * fds.itemsize))
    except ConnectionResetError:
        return None, []
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    try:
        message = json.loads(data) if data else None
    except (ValueError, RecursionError):  # an implementation wrote into a descriptor that is not its own
        message = None
    return (message if isinstance(message, dict) else None), list(fds)
