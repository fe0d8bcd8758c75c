"""The protocol between the runner and its processes: one JSON object per packet.

The runner and the measuring processes share no code above this layer. Requests are `{"do": …}`;
what comes back is one of the fields of :class:`Reply`. Before it a worker may
say `{"compiling": true}`, and `false` when that has ended: a compiler's time has a limit of its own.

A worker shares its process with an implementation, so that its answer is no more to be trusted than the
implementation is. An answer that lacks a field of its verb's form, or has one of another type, ends that one
case; fields that no form names are ignored. To have a verb answer with another figure, add it to the form.
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


LONGEST_SECONDS = 1e9  # thirty years: whatever reads more than that has read no clock

Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0, lt=LONGEST_SECONDS)]
Reading = Annotated[float, Meta(gt=0, lt=LONGEST_SECONDS)]  # of a clock around a call: some time has passed
Maybe = Count | None  # None where it is not known


def _form(**fields: Any) -> type[Any]:
    return defstruct("Answer", list(fields.items()), frozen=True)


class Profiled(Struct, frozen=True):
    """One call without marks, and one with them."""

    plain_s: Seconds = 0.0  # of the call without marks
    stages: Mapping[str, tuple[Seconds, int | None, Seconds]] = {}  # own time, times entered, time beside
    refused: str = ""  # why there are no stages: its framework cannot be profiled

    def __post_init__(self) -> None:
        if not self.refused and not (self.plain_s and self.stages):
            raise ValueError("it has no reading")


DESCRIBED = {  # a compiled case, before anything of its size exists
    "static": Static,  # of the host, or of the target that it was compiled for
    "cost": Cost,  # by the family's formulas
    "facts": dict[str, Value],  # what the implementation states of itself
    "expected": bool,  # it is declared to be incorrect here
    "expectation": str | None,  # the declared reason; None where nothing is declared
    "input_bytes": Count,  # of one set of the inputs that it asks for
}

FORMS: Mapping[str, type[Any]] = {
    "prepare": _form(
        **DESCRIBED,
        startup_s=Seconds,  # from the worker's birth to the builder's call
    ),
    "compile": _form(
        **DESCRIBED,
        resident_bytes=Count,  # of the compiler's process afterwards
        spent=bool,  # it has given a warning that it gives once per process only
    ),
    "check": _form(
        seconds=Seconds,  # of the shortest of its calls
        warmup_s=Seconds,  # of all of them
        high_water_bytes=Maybe,  # resident peak over the first call; None where the kernel gives none
        recompiled=Count,  # compilations in calls after the first
    ),
    "examine": _form(checks=tuple[Checked, ...]),
    "ready": _form(
        method=Literal[tuple(METHODS)],
        cache=Literal[tuple(CACHES)],
        reason=str,  # why the host's clock is read on a device that has one; else empty
    ),
    "sample": _form(
        samples_s=Annotated[tuple[Reading, ...], Meta(min_length=1)],  # per call, one for each reading
        seconds=Seconds,  # of the whole turn, by the worker's clock
        compiled=Count,  # compilations within the readings
        queued=Amount | None,  # seconds that its threads waited for a core, in units of the readings' time
        latency_s=Reading | None,  # of one more call by the host's clock, where the device's was read
    ),
    "profile": Profiled,
    "count_stages": _form(counts=dict[str, tuple[Maybe, Maybe, Maybe]]),  # operators, FLOPs, bytes by stage
    "trace_operators": _form(
        # those of one call that took longest
        operators=tuple[_form(operator=str, stage=str, seconds=Seconds, calls=Count, bytes=Maybe), ...],
        refused=str,  # why there are none; empty where there are
    ),
    "kernels": _form(
        kernels=tuple[tuple[str, Count], ...],  # names of one call's kernels, in order, with their counts
        refused=str,  # why there are none; empty where there are
    ),
    "judge": _form(
        correctness=Correctness,
        reason=str,  # empty where the contract passed
        changed=str | None,  # the input that it changed
    ),
    **dict.fromkeys(("inputs", "reference", "fresh", "hold", "drop", "release"), _form()),
}


@dataclass(frozen=True)
class Failure:
    """An exception of the worker's, or of the implementation's; `unjudged`: of its family's own code."""

    kind: Literal["oom", "crashed", "unjudged"]
    reason: str
    traceback: str = ""


@dataclass(frozen=True)
class Reply:
    """A worker's reply to a request: the answer in `ok`, or the reason why there is none in another field."""

    ok: Any = None
    unsupported: str | None = None
    misplaced: str | None = None  # code from elsewhere than the side of a gate it belongs to
    scratch_full: str | None = None  # no case's fault: the machine has to be mended first
    failed: Failure | None = None


def read_reply(verb: str, message: Mapping[str, Any]) -> Reply:
    """Parse a message as the reply to `verb`. ValueError, with a remedy, where it has another form."""
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
    """ValueError for a number or a text, at any depth, that a record can hold and its file cannot."""
    waiting = [data]
    while waiting:  # no recursion: the worker chose how deep its answer is
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
