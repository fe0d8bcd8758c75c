"""The protocol between the runner and its processes: one JSON object per packet.

The runner and the measuring processes share no code above this layer. Requests are `{"do": …}`; a reply is
one of the fields of :class:`Reply`. Before a reply, a worker may send `{"compiling": true}`, and `false` when
that has ended, because compile time has its own limit.

A worker shares its process with an implementation, so its replies are not trusted. A reply without a field
of its verb's form, or with a value of another type, ends that case. Fields that are not in the form are
ignored. To add a figure to a verb's reply, add it to the form.
"""

from __future__ import annotations

import array
import json
import math
import select
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct

from harness.core.case import Case
from harness.core.clocks import METHODS
from harness.core.plain_data import WHOLE, from_plain
from harness.core.record import CACHES, Checked, Correctness, Cost
from harness.core.static_figures import Static
from harness.core.workload import Value

PACKET = 1 << 20


@dataclass(frozen=True)
class Job:
    """The job of a process, given at its fork.

    `role` is `case` (measures one case), `reference` (draws a group's inputs, computes references and
    verifies results), `side` (one side of a gate, with several cases, each with its own job) or `target`
    (cross-compiles cases, each with its own job). `case` is the case to measure or verify, and `folder` has
    the group's arrays. `module` defines the implementation; a reference worker finds its family through it.
    In a gate `side` is the side of the code, and `within` is the folder that must contain the module. The
    process uses `threads` of its allowed cores, starting with number `core`.
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
    """Two connected sockets that preserve packets."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (left, right):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PACKET)
    return left, right


def send(end: socket.socket, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    end.sendmsg([json.dumps(message).encode()], ancillary)


def has_message(end: socket.socket, seconds: float) -> bool:
    """Whether there is a message to receive, or the other end closes, within `seconds`."""
    # Not select(2), which does not support descriptors from 1024 on: a group may have more processes.
    waiting = select.poll()
    waiting.register(end, select.POLLIN)
    return bool(waiting.poll(1000 * seconds))


def receive(end: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """(message, descriptors); the message is None if the other end has closed, or has not sent JSON."""
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
    except (ValueError, RecursionError):  # an implementation wrote to the runner's descriptor
        message = None
    return (message if isinstance(message, dict) else None), list(fds)


LONGEST_SECONDS = 1e9  # thirty years: larger values are not from a clock

Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0, lt=LONGEST_SECONDS)]
Sample = Annotated[float, Meta(gt=0, lt=LONGEST_SECONDS)]  # time of a call, which is never 0
Maybe = Count | None  # None if unknown


def _form(**fields: Any) -> type[Any]:
    return defstruct("Answer", list(fields.items()), frozen=True)


class Profiled(Struct, frozen=True):
    """One call without marks, and one with them."""

    plain_s: Seconds = 0.0  # of the call without marks
    stages: Mapping[str, tuple[Seconds, int | None, Seconds]] = {}  # own time, times entered, parallel time
    refused: str = ""  # why there are no stages, for example a framework that cannot be profiled

    def __post_init__(self) -> None:
        if not self.refused and not (self.plain_s and self.stages):
            raise ValueError("it has no sample")


DESCRIBED = {  # a compiled case, before its arrays exist
    "static": Static,  # for the host, or for the target that it was compiled for
    "cost": Cost,  # from the family's formulas
    "facts": dict[str, Value],  # stated by the implementation
    "expected": bool,  # it is marked as incorrect here
    "expectation": str | None,  # the reason for the mark; None without one
    "input_bytes": Count,  # of one set of its inputs
}

FORMS: Mapping[str, type[Any]] = {
    "prepare": _form(
        **DESCRIBED,
        startup_s=Seconds,  # from the worker's fork to the builder's call
    ),
    "compile": _form(
        **DESCRIBED,
        resident_bytes=Count,  # of the compiler's process afterwards
        spent=bool,  # it has printed a warning that it prints only once per process
    ),
    "check": _form(
        seconds=Seconds,  # of the shortest call
        warmup_s=Seconds,  # of all calls
        high_water_bytes=Maybe,  # resident peak during the first call; None if the kernel does not report it
        recompiled=Count,  # compilations in calls after the first
    ),
    "examine": _form(checks=tuple[Checked, ...]),
    "ready": _form(
        method=Literal[tuple(METHODS)],
        cache=Literal[tuple(CACHES)],
        reason=str,  # why the host's clock is used on a device with a clock; else empty
    ),
    "sample": _form(
        samples_s=Annotated[tuple[Sample, ...], Meta(min_length=1)],  # seconds per call
        seconds=Seconds,  # of the whole turn, by the worker's clock
        compiled=Count,  # compilations during the samples
        queued=Amount | None,  # time that its threads waited for a core, in units of the samples' time
        latency_s=Sample | None,  # of one more call by the host's clock, if the device's clock was used
    ),
    "profile": Profiled,
    "count_stages": _form(counts=dict[str, tuple[Maybe, Maybe, Maybe]]),  # operators, FLOPs, bytes by stage
    "trace_operators": _form(
        # the slowest operators of one call
        operators=tuple[_form(operator=str, stage=str, seconds=Seconds, calls=Count, bytes=Maybe), ...],
        refused=str,  # why there are no operators, or empty
    ),
    "kernels": _form(
        kernels=tuple[tuple[str, Count], ...],  # names of one call's kernels, in order, with their counts
        refused=str,  # why there are no kernels, or empty
    ),
    "judge": _form(
        correctness=Correctness,
        reason=str,  # empty if the contract passed
        changed=str | None,  # the input that it changed
    ),
    **dict.fromkeys(("inputs", "reference", "fresh", "hold", "drop", "release"), _form()),
}


@dataclass(frozen=True)
class Failure:
    """An exception in the worker or the implementation; `unjudged`: in its family's code."""

    kind: Literal["oom", "crashed", "unjudged"]
    reason: str
    traceback: str = ""


@dataclass(frozen=True)
class Reply:
    """A worker's reply to a request: the answer in `ok`, or a reason for its absence in another field."""

    ok: Any = None
    unsupported: str | None = None
    misplaced: str | None = None  # code that is not from its side of a gate
    scratch_full: str | None = None  # not a case's fault: the scratch folder is full
    failed: Failure | None = None


def read_reply(verb: str, message: Mapping[str, Any]) -> Reply:
    """Parse a message as the reply to `verb`. ValueError, with a remedy, if its form is invalid."""
    try:
        _require_storable(message)
        reply = from_plain(Reply, message)
        refusals = (reply.unsupported, reply.misplaced, reply.scratch_full, reply.failed)
        if all(refusal is None for refusal in refusals):
            from_plain(FORMS[verb], reply.ok)
    except ValueError as error:
        raise ValueError(
            f'it replied to "{verb}" in an invalid form ({error}); '
            "something in the worker process corrupts replies; check for monkey-patching"
        ) from None
    return reply


def _require_storable(data: Any) -> None:
    """ValueError for a number or a text, at any depth, that a record's file cannot store."""
    waiting = [data]
    while waiting:  # no recursion, because the worker determines the depth
        value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"a figure is {value}")
        if isinstance(value, int) and abs(value) >= WHOLE:
            raise ValueError("a whole number has more than 63 bits")
        if isinstance(value, str) and not value.isascii():
            value.encode()  # half of a surrogate pair has no bytes (UnicodeEncodeError is a ValueError)
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
