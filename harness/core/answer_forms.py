"""The form of every answer: what a worker may say to each verb, checked where the runner receives it.

A worker shares its process with an implementation, so that its answer is no more to be trusted than the
implementation is. An answer that lacks a field here, or has one of another type, is the end of one case; what
no form names is left alone. A figure that a verb is to give from now on is one more line in its form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.core.errors import require_member
from harness.core.plain_data import WHOLE, from_plain
from harness.core.record import CACHES, METHODS, REPLAY_METHODS, Checked, Correctness, Cost, OperatorFigures
from harness.core.static_figures import Static
from harness.core.workload import Value

COUNTERS = ("allocator", "resident")  # of memory: the device's allocator, or the kernel of a process
LONGEST_SECONDS = 1e9  # thirty years: whatever reads more than that has read no clock


@dataclass(frozen=True)
class EmptyAnswer:
    """Of `hold`, `drop`, `release`, and of a reference worker's `inputs` and `fresh`: done."""


@dataclass(frozen=True)
class Described:
    """What a compiled case is, before anything of its size exists."""

    static: Static  # of the host, or of the target that it was compiled for
    cost: Cost  # by the family's formulas
    facts: Mapping[str, Value]  # what the implementation states of itself
    expected: bool  # it is declared to be incorrect here
    expectation: str | None  # the declared reason; None where nothing is declared
    input_bytes: int  # of one set of the inputs that it asks for

    def __post_init__(self) -> None:
        if any((amount or 0) < 0 for amount in (self.cost.flops, self.cost.bytes, self.cost.dense_flops)):
            raise ValueError("its cost has a negative figure")


@dataclass(frozen=True)
class PrepareAnswer(Described):
    """Of `prepare`."""

    startup_s: float  # from the worker's birth to the builder's call


@dataclass(frozen=True)
class CompileAnswer(Described):
    """Of a compiler's `compile`."""

    resident_bytes: int  # of the compiler's process afterwards
    spent: bool  # it has given a warning that it gives once per process only


@dataclass(frozen=True)
class CheckAnswer:
    """Of `check`."""

    seconds: float  # of the shortest of its calls
    high_water_bytes: int | None  # resident peak over the first call; None where the kernel tells none
    recompiled: int  # compilations in calls after the first


@dataclass(frozen=True)
class ExamineAnswer:
    """Of `examine`."""

    checks: tuple[Checked, ...]


@dataclass(frozen=True)
class ReadyAnswer:
    """Of `ready`."""

    method: str  # one of METHODS
    cache: str  # one of CACHES

    def __post_init__(self) -> None:
        require_member("method", self.method, METHODS)
        require_member("cache", self.cache, CACHES)


@dataclass(frozen=True)
class SampleAnswer:
    """Of `sample`."""

    samples_s: tuple[float, ...]  # seconds per call, one for each reading
    seconds: float  # of the whole turn, by the worker's clock
    compiled: int  # compilations within the readings

    def __post_init__(self) -> None:
        if not self.samples_s:
            raise ValueError("it has no reading")
        for sample in self.samples_s:
            if not 0 < sample < LONGEST_SECONDS:
                raise ValueError(f"a reading of {sample} s is no time")


@dataclass(frozen=True)
class ProfileAnswer:
    """Of `profile`: one call without marks, and one with them."""

    plain_s: float = 0.0  # seconds of the call without marks
    stages: Mapping[str, tuple[float, int | None, float]] = field(  # seconds, times entered, seconds beside
        default_factory=dict[str, tuple[float, int | None, float]]
    )
    refused: str = ""  # why there are no stages: its framework cannot be profiled

    def __post_init__(self) -> None:
        if not self.refused and not (0 < self.plain_s < LONGEST_SECONDS and self.stages):
            raise ValueError("it has no reading")
        for name, (own, _, beside) in self.stages.items():
            for seconds in (own, beside):
                if not 0 <= seconds < LONGEST_SECONDS:
                    raise ValueError(f'{seconds} s in stage "{name}" is no time')


@dataclass(frozen=True)
class CountStagesAnswer:
    """Of `count_stages`: (operators, FLOPs, bytes) by stage."""

    counts: Mapping[str, tuple[int | None, int | None, int | None]]


@dataclass(frozen=True)
class TraceOperatorsAnswer:
    """Of `trace_operators`: those of one call that took longest."""

    operators: tuple[OperatorFigures, ...] = ()
    refused: str = ""  # why there are none

    def __post_init__(self) -> None:
        for operator in self.operators:
            if not 0 <= operator.seconds < LONGEST_SECONDS:
                raise ValueError(f'{operator.seconds} s in operator "{operator.operator}" is no time')


@dataclass(frozen=True)
class CaptureAnswer:
    """Of `capture`: the call is a graph of the device's work."""

    method: str  # one of REPLAY_METHODS
    cache: str  # one of CACHES

    def __post_init__(self) -> None:
        require_member("method", self.method, REPLAY_METHODS)
        require_member("cache", self.cache, CACHES)


@dataclass(frozen=True)
class ReplayAnswer:
    """Of `replay`: a reading of each way."""

    replay_s: float  # seconds of one replay
    eager_s: float  # seconds of one eager call

    def __post_init__(self) -> None:
        for seconds in (self.replay_s, self.eager_s):
            if not 0 < seconds < LONGEST_SECONDS:
                raise ValueError(f"a reading of {seconds} s is no time")


@dataclass(frozen=True)
class AttemptAnswer:
    """Of `attempt`: the memory of one call at a length."""

    peak_bytes: int | None  # the highest that was allocated for it
    outside_bytes: int | None  # what its device or process held beside that
    by: str  # one of COUNTERS: who counted

    def __post_init__(self) -> None:
        require_member("counter", self.by, COUNTERS)


@dataclass(frozen=True)
class FinishAnswer:
    """Of `finish`: what the implementation leaves."""

    threads: tuple[str, ...]  # names of those that run
    processes: tuple[str, ...] = ()  # those that live, as `name (id)`
    shared_memory: tuple[str, ...] = ()  # files that outlive them, with their sizes


@dataclass(frozen=True)
class ReferenceAnswer:
    """Of a reference worker's `reference`."""

    row_cost: tuple[float, float] | None  # seconds of any rows, and of each; None where it takes all


@dataclass(frozen=True)
class RestoreAnswer:
    """Of a reference worker's `restore`."""

    names: tuple[str, ...]  # of inputs that were no longer what was drawn


@dataclass(frozen=True)
class JudgeAnswer:
    """Of a reference worker's `judge`."""

    correctness: Correctness
    reason: str  # empty where the contract passed
    changed: str | None  # the input that it changed


FORMS: Mapping[str, type[Any]] = {
    "prepare": PrepareAnswer,
    "check": CheckAnswer,
    "examine": ExamineAnswer,
    "ready": ReadyAnswer,
    "sample": SampleAnswer,
    "profile": ProfileAnswer,
    "count_stages": CountStagesAnswer,
    "trace_operators": TraceOperatorsAnswer,
    "capture": CaptureAnswer,
    "replay": ReplayAnswer,
    "attempt": AttemptAnswer,
    "finish": FinishAnswer,
    "inputs": EmptyAnswer,
    "reference": ReferenceAnswer,
    "fresh": EmptyAnswer,
    "restore": RestoreAnswer,
    "judge": JudgeAnswer,
    "hold": EmptyAnswer,
    "drop": EmptyAnswer,
    "release": EmptyAnswer,
    "compile": CompileAnswer,
}


@dataclass(frozen=True)
class Failure:
    """An exception of the worker's, or of the implementation's."""

    kind: Literal["oom", "crashed"]
    reason: str
    traceback: str = ""


@dataclass(frozen=True)
class Reply:
    """What comes back for a question: the answer in `ok`, or why there is none, in one of the others."""

    ok: Any = None
    unsupported: str | None = None
    misplaced: str | None = None  # code from elsewhere than the side of a gate it belongs to
    scratch_full: str | None = None  # no case's fault: the machine has to be mended first
    failed: Failure | None = None


def read_reply(verb: str, message: Mapping[str, Any]) -> Reply:
    """The reply that a message holds. ValueError, with a remedy, for another form than `verb` asks for."""
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
    """The same answer, which has the form of one to `verb`. ValueError, with a remedy, for any other."""
    try:
        _require_storable(answer)
        form = from_plain(FORMS[verb], answer)
        for name, value in vars(form).items():
            if isinstance(value, (int, float)) and value < 0:
                raise ValueError(f"{name} is {value}")
    except ValueError as error:
        raise _odd_answer(verb, error) from None
    return answer


def _odd_answer(verb: str, error: ValueError) -> ValueError:
    return ValueError(
        f'it answered "{verb}" in another form than is agreed ({error}); '
        "look for what meddles with its process"
    )


def _require_storable(data: Any) -> None:
    """ValueError for a number or a text, however deep, that a record could hold and no file."""
    waiting = [data]
    while waiting:  # no recursion: how deep it is was the other's choice
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
