"""The value of a claim's expression: its calls answered by compiled cases, contracts, devices and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.claims import columns
from harness.claims.answers import ClaimEvidence, Compiled
from harness.claims.columns import NoValueError
from harness.claims.expression import Called, Expression, Value, parse
from harness.claims.functions import (
    ANALYTIC,
    COLUMNS,
    DEVICE,
    EXPONENT,
    FACT,
    IDENTITY,
    JUDGED,
    TESTED,
    TRACED,
)
from harness.claims.model import Claim, Need
from harness.claims.needs import needs_of
from harness.core.record import Cost

PEAK_DTYPE = "bf16"
COUNTED = {"flops", "bytes_accessed"}  # per execution of a loop's body
ANSWERS = {"ok", "incorrect"}  # of a contract; any other end says nothing about the implementation
FOILED: Mapping[str, str] = {  # ends that say something about the machine, which may be slow or small
    "timeout": "took too long",
    "crashed": "crashed",
    "skipped": "was skipped",
    "oom": "ran out of memory",
}


class Missing(Exception):  # noqa: N818 - a figure that is not to be had is an answer, not an error
    """Why there is no value; `incomplete`: for want of what another machine, or this one later, may have."""

    def __init__(self, reason: str, *, incomplete: bool = False) -> None:
        super().__init__(reason)
        self.incomplete = incomplete


class OutsideTableError(Missing):
    """A row that has no counterpart in its table, as the first has none to have grown from."""


@dataclass
class Evaluator:
    """Evaluates the expressions of one figure, and remembers what its calls read.

    `by` says from where, `targets` for which; `calls` are the functions called, nested ones included.
    """

    claim: Claim
    catalog: Catalog
    evidence: ClaimEvidence
    by: dict[str, None] = field(default_factory=dict[str, None])
    targets: dict[str, None] = field(default_factory=dict[str, None])
    calls: set[str] = field(default_factory=set[str])

    @property
    def tested(self) -> bool:
        """Whether anything was compiled or run for it."""
        return bool(self.calls & TESTED)

    @property
    def bounded_by_hardware(self) -> bool:
        """Whether it rests on a device, on a count of work, or on what was compiled."""
        return bool(self.calls & {*TESTED, *DEVICE, *ANALYTIC})

    def value(self, expression: Expression, names: Mapping[str, Value]) -> Value:
        """Missing where something it needs is not to be had; ValueError where it makes no sense."""
        return expression.value(names, self._answer)

    def _answer(self, name: str, arguments: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
        called = Called(name, arguments, keywords)
        self.calls.add(name)
        if name in COLUMNS:
            return self._of_columns(called)
        if name in DEVICE:
            self.by["the device's file"] = None
            return _of_device(name, str(arguments[0]))
        wanted = needs_of(called, self.claim, self.catalog)
        if name == EXPONENT:
            return self._exponent(called)
        if name in ANALYTIC:
            self.by["the family's cost formula"] = None
            return self._cost(name, wanted[0])
        if name in JUDGED:
            self.by["its contract, run here" if name == "status" else "its check, run here"] = None
            self.targets[accelerators.HOST] = None
            return self._verified(called, wanted[0])
        self.by[_origin(name, wanted[0].target)] = None
        self.targets[wanted[0].target] = None
        return self._compiled(called, wanted[0])

    def _exponent(self, called: Called) -> Value:
        figure, label, *rest = called.arguments
        *target, low, high = rest
        ends: list[float] = []
        for length in (low, high):
            value = self._answer(str(figure), (label, *target), {**called.keywords, "seq": length})
            if isinstance(value, bool | str) or value <= 0:
                raise Missing(f"{figure} of {label} is {value} at {length}: it has no exponent")
            ends.append(value)
        return math.log(ends[1] / ends[0]) / math.log(float(high) / float(low))

    def _compiled(self, called: Called, wanted: Need) -> Value:
        known = self.evidence.compiled.get(wanted)
        if known is None:
            raise Missing(f"{wanted.id} was not compiled")
        static, name = known.static, called.name
        if known.absent:
            raise Missing(known.reason, incomplete=True)
        if known.status in FOILED:
            _raise_foiled(wanted, known.status, known.reason)
        if name == FACT:
            return _fact(known, wanted, str(called.arguments[1]))
        if name in IDENTITY:
            return _identity(called, known, wanted)
        if name == "cycles":
            if not static.operator_weights:
                raise Missing(f"the module of {wanted.id} carries no estimates")
            kept = static.operator_weights  # the heaviest, each with its share of all
            cycles = sum(weight.estimated_cycles * (weight.turns or 1) for weight in kept)
            return cycles / sum(weight.share for weight in kept)
        figure = "temp_bytes" if name == TRACED else name
        if static.body_only and figure in COUNTED:
            raise Missing(f"{figure} of {wanted.id} count a loop's body once")
        value: float | None = getattr(static, figure)
        if value is None:
            raise Missing(_absence(known, wanted, figure))
        return value

    def _cost(self, name: str, wanted: Need) -> Value:
        cost = self.evidence.costs.get(wanted)
        if not isinstance(cost, Cost):
            raise Missing(cost or f"{wanted.id} has no analytic cost")
        value: float | None = getattr(cost, name.removeprefix("cost_"))
        if value is None:
            raise Missing(f"the family has no formula of {name.removeprefix('cost_')} for {wanted.id}")
        return value

    def _verified(self, called: Called, wanted: Need) -> Value:
        judged = self.evidence.judged.get(wanted)
        if judged is None or judged.status is None:
            raise Missing(judged.reason if judged else f"{wanted.id} was not judged", incomplete=True)
        if judged.status in FOILED:
            _raise_foiled(wanted, judged.status, judged.reason)
        if called.name == "check":
            passed = judged.checks.get(wanted.check)
            if passed is None:
                raise Missing(f"{wanted.check} decides nothing of {wanted.id}")
            return passed
        if judged.status not in ANSWERS:
            raise Missing(f"{wanted.id} is {judged.status}: {judged.reason or 'no reason was given'}")
        return judged.status

    def _of_columns(self, called: Called) -> Value:
        self.by["the published table"] = None
        texts = [value for value in called.arguments if isinstance(value, str)]
        read = [self._column(parse(text)) for text in texts]
        lengths = [float(value) for value in called.arguments if not isinstance(value, str)]
        options = {name: float(value) for name, value in called.keywords.items()}
        try:
            return getattr(columns, called.name)(*read, *lengths, **options)
        except NoValueError as error:
            kind = OutsideTableError if called.name == "growth" else Missing
            raise kind(str(error)) from None

    def _column(self, expression: Expression) -> dict[float, float]:
        """The expression by the table's first column, over the rows that have its numbers.

        ValueError where two of these begin with the same number: none is left out in silence.
        """
        column: dict[float, float] = {}
        table = self.claim.table
        for row in table.rows if table else ():
            names = {**self.claim.names(), **(table.numbers(row) if table else {})}
            if expression.names() <= names.keys() and isinstance(row[0], int | float):
                value = self.value(expression, names)
                if isinstance(value, bool | str):
                    raise ValueError(f'"{expression.text}" is no number')
                if row[0] in column:
                    raise ValueError(f"two rows of the table begin with {row[0]}; a length has one row")
                column[row[0]] = value
        return column


def _origin(name: str, target: str) -> str:
    if name == TRACED:
        return "traced here over fake tensors"
    if name == FACT:
        return "a fact of the case, read here"
    return f"compiled for {target}"


def _identity(called: Called, known: Compiled, wanted: Need) -> Value:
    """What a program is made of. Missing where its module cannot be read."""
    static = known.static
    if static.program is None:
        raise Missing(_absence(known, wanted, "program"))
    if called.name == "calls":
        return called.arguments[2] in static.custom_calls
    if called.name == "ops":
        if not static.opcodes:
            raise Missing(f"the operations of {wanted.id} are not known")
        return static.opcodes.get(str(called.arguments[2]), 0)
    return static.program


def _fact(known: Compiled, wanted: Need, name: str) -> Value:
    value = known.facts.get(name)
    if value is None:
        facts = ", ".join(known.facts) or "none"
        raise Missing(f'{wanted.id} has no fact "{name}"; it has {facts}')
    return value


def _of_device(name: str, target: str) -> float:
    known = accelerators.target(target).accelerator
    if known is None:
        raise Missing(f"{target} has no data file")
    if name == "memory":
        return known.memory_bytes
    if name == "bandwidth":
        return known.bandwidth_bytes_s
    if name == "vector_ops":
        if known.vector_ops is None:
            raise Missing(f"the data file of {target} has no rate of its vector units")
        return known.vector_ops
    if PEAK_DTYPE not in known.peak_flops:
        raise Missing(f"{target} has no peak for {PEAK_DTYPE}")
    return known.peak_flops[PEAK_DTYPE]


def _raise_foiled(wanted: Need, status: str, reason: str) -> NoReturn:
    detail = f": {reason}" if reason else ""
    raise Missing(f"{wanted.id} {FOILED[status]} here{detail}", incomplete=True)


def _absence(known: Compiled, wanted: Need, name: str) -> str:
    if known.status != "ok" and known.reason:
        return f"{wanted.id}: {known.reason}"
    return f"{name} of {wanted.id}: {known.static.unavailable.get(name, 'not given')}"
