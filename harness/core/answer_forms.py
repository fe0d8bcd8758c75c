"""The form of a worker's answer to each verb, checked where the runner receives it.

A worker shares its process with an implementation, so that its answer is no more to be trusted than the
implementation is. An answer that lacks a field here, or has one of another type, ends that one case; fields
that no form names are ignored. To have a verb answer with another figure, add a line to its form.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct

from harness.core.clocks import METHODS
from harness.core.plain_data import WHOLE, from_plain
from harness.core.record import CACHES, Checked, Correctness
from harness.core.static_figures import Static
from harness.core.workload import Value

LONGEST_SECONDS = 1e9  # thirty years: whatever reads more than that has read no clock

Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0, lt=LONGEST_SECONDS)]
Reading = Annotated[float, Meta(gt=0, lt=LONGEST_SECONDS)]  # of a clock around a call: some time has passed
Maybe = Count | None  # None where it is not known


def _form(**fields: Any) -> type[Any]:
    return defstruct("Answer", list(fields.items()), frozen=True)


def _one_of(*words: str) -> Any:
    return Annotated[str, Meta(pattern=f"^({'|'.join(words)})$")]


class Profiled(Struct, frozen=True):
    """One call without marks, and one with them."""

    plain_s: Seconds = 0.0  # of the call without marks
    stages: Mapping[str, tuple[Seconds, int | None, Seconds]] = {}  # own time, times entered, time beside
    refused: str = ""  # why there are no stages: its framework cannot be profiled

    def __post_init__(self) -> None:
        if not self.refused and not (self.plain_s and self.stages):
            raise ValueError("it has no reading")


OPERATOR = _form(operator=str, stage=str, seconds=Seconds, calls=Count, bytes=Maybe)
COST = defstruct("CostForm", [(name, Amount | None, None) for name in ("flops", "bytes", "dense_flops")])
DESCRIBED = {  # a compiled case, before anything of its size exists
    "static": Static,  # of the host, or of the target that it was compiled for
    "cost": COST,  # by the family's formulas
    "facts": dict[str, Value],  # what the implementation states of itself
    "expected": bool,  # it is declared to be incorrect here
    "expectation": str | None,  # the declared reason; None where nothing is declared
    "input_bytes": Count,  # of one set of the inputs that it asks for
}
DONE = _form()

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
        method=_one_of(*METHODS),
        cache=_one_of(*CACHES),
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
        operators=tuple[OPERATOR, ...],  # those of one call that took longest
        refused=str,  # why there are none; empty where there are
    ),
    "kernels": _form(
        kernels=tuple[tuple[str, Count], ...],  # names of one call's kernels, in order, with their counts
        refused=str,  # why there are none; empty where there are
    ),
    "inputs": DONE,
    "reference": DONE,
    "fresh": DONE,
    "judge": _form(
        correctness=Correctness,
        reason=str,  # empty where the contract passed
        changed=str | None,  # the input that it changed
    ),
    "hold": DONE,
    "drop": DONE,
    "release": DONE,
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
        reply = from_plain(Reply, message)
        refusals = (reply.unsupported, reply.misplaced, reply.scratch_full, reply.failed)
        answered = all(refusal is None for refusal in refusals)
        if not answered:
            _require_storable(message)
    except ValueError as error:
        raise _odd_answer(verb, error) from None
    if answered:
        check_answer(verb, reply.ok)
    return reply


def check_answer(verb: str, answer: Any) -> Mapping[str, Any]:
    """Return the answer if it has the form of one to `verb`. ValueError, with a remedy, where it has not."""
    try:
        _require_storable(answer)
        from_plain(FORMS[verb], answer)
    except ValueError as error:
        raise _odd_answer(verb, error) from None
    return answer


def _odd_answer(verb: str, error: ValueError) -> ValueError:
    return ValueError(
        f'it answered "{verb}" in another form than is agreed ({error}); '
        "look for what meddles with its process"
    )


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
