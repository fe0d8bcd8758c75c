"""Evaluation of a claim's expressions: calls are answered by compiled cases, contracts, devices, tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.claims import columns, functions
from harness.claims.answers import ClaimEvidence, Compiled
from harness.claims.columns import NoValueError
from harness.claims.expression import Expression, FunctionCall, Value, parse
from harness.claims.model import Claim, Need
from harness.claims.needs import needs_of
from harness.core.record import Cost
from harness.report.agreement import agreement

PEAK_DTYPE = "bf16"
DEVICE_FIGURES = {"memory": "memory_bytes", "bandwidth": "bandwidth_bytes_s", "vector_ops": "vector_ops"}
COUNTED = {"flops", "bytes_accessed"}  # per execution of a loop's body
ANSWERS = {"ok", "incorrect"}  # a contract's statuses that judge the implementation; the others do not
FOILED: Mapping[str, str] = {  # statuses that may be due to the machine, which may be slow or small
    "timeout": "took too long",
    "crashed": "crashed",
    "skipped": "was skipped",
    "oom": "ran out of memory",
}


class Missing(Exception):  # noqa: N818 - a figure without a value is an answer, not an error
    """Why there is no value; `incomplete`: another machine, or this one later, may be able to give it."""

    def __init__(self, reason: str, *, incomplete: bool = False) -> None:
        super().__init__(reason)
        self.incomplete = incomplete


class OutsideTableError(Missing):
    """A row without its counterpart in the table: growth has no value at the first row."""


@dataclass
class Evaluator:
    """Evaluates the expressions of one figure, and records what its calls read.

    `by` names the sources, `targets` the targets; `calls` are the functions called, nested ones included.
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
        return bool(self.calls & functions.TESTED)

    @property
    def bounded_by_hardware(self) -> bool:
        """Whether it rests on a device, on a count of work, or on what was compiled."""
        return bool(self.calls & {*functions.TESTED, *functions.DEVICE, *functions.ANALYTIC})

    def value(self, expression: Expression, names: Mapping[str, Value]) -> Value:
        """The expression's value. Missing: something that it needs has no value; ValueError: no sense."""
        return expression.value(names, self._answer)

    def _answer(self, name: str, arguments: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
        call = FunctionCall(name, arguments, keywords)
        self.calls.add(name)
        if name in functions.COLUMNS:
            return self._of_columns(call)
        if name in functions.DEVICE:
            self.by["the device's file"] = None
            return _of_device(name, str(arguments[0]))
        wanted = needs_of(call, self.claim, self.catalog)
        if name == functions.EXPONENT:
            return self._exponent(call)
        if name in functions.ANALYTIC:
            self.by["the family's cost formula"] = None
            return self._cost(name, wanted[0])
        if name in functions.JUDGED:
            self.by["its contract, run here" if name == "status" else "its check, run here"] = None
            self.targets[accelerators.HOST] = None
            return self._verified(call, wanted[0])
        self.targets[wanted[0].target or accelerators.HOST] = None
        if name == functions.SPEEDUP:
            return self._speedup(wanted[0])
        self.by[_origin(name, wanted[0].target)] = None
        return self._compiled(call, wanted[0])

    def _speedup(self, wanted: Need) -> Value:
        """The speedup nearest to 1 of the machines that agree: what all of them have."""
        found = self.evidence.timed.get(wanted)
        if found is None:
            raise Missing(f"no run that is kept has {wanted.id} beside its baseline")
        said = agreement(found)
        self.by[f"stored runs: {said}"] = None
        required = self.claim.reproductions
        if found.independent < required:
            raise Missing(f"{required} independent machine{'s' * (required > 1)} must agree; {said}")
        return min((m.speedup.value or 1.0 for m in found.agreeing), key=lambda value: abs(math.log(value)))

    def _exponent(self, call: FunctionCall) -> Value:
        figure, label, *rest = call.arguments
        *target, low, high = rest
        ends: list[float] = []
        for length in (low, high):
            value = self._answer(str(figure), (label, *target), {**call.keywords, "seq": length})
            if isinstance(value, bool | str) or value <= 0:
                raise Missing(f"{figure} of {label} is {value} at {length}: it has no exponent")
            ends.append(value)
        return math.log(ends[1] / ends[0]) / math.log(float(high) / float(low))

    def _compiled(self, call: FunctionCall, wanted: Need) -> Value:
        compiled = self.evidence.compiled.get(wanted)
        if compiled is None:
            raise Missing(f"{wanted.id} was not compiled")
        static, name = compiled.static, call.name
        if compiled.absent:
            raise Missing(compiled.reason, incomplete=True)
        if compiled.status in FOILED:
            _raise_foiled(wanted, compiled.status, compiled.reason)
        if name == functions.FACT:
            return _fact(compiled, wanted, str(call.arguments[1]))
        if name in functions.IDENTITY:
            return _identity(call, compiled, wanted)
        figure = "temp_bytes" if name == functions.TRACED else name
        if static.body_only and figure in COUNTED:
            raise Missing(f"{figure} of {wanted.id} count a loop's body once")
        value: float | None = getattr(static, figure)
        if value is None:
            raise Missing(_absence(compiled, wanted, figure))
        return value

    def _cost(self, name: str, wanted: Need) -> Value:
        cost = self.evidence.costs.get(wanted)
        if not isinstance(cost, Cost):
            raise Missing(cost or f"{wanted.id} has no analytic cost")
        value: float | None = getattr(cost, name.removeprefix("cost_"))
        if value is None:
            raise Missing(f"the family has no formula of {name.removeprefix('cost_')} for {wanted.id}")
        return value

    def _verified(self, call: FunctionCall, wanted: Need) -> Value:
        judged = self.evidence.judged.get(wanted)
        if judged is None or judged.status is None:
            raise Missing(judged.reason if judged else f"{wanted.id} was not judged", incomplete=True)
        if judged.status in FOILED:
            _raise_foiled(wanted, judged.status, judged.reason)
        if call.name == "check":
            passed = judged.checks.get(wanted.check)
            if passed is None:
                raise Missing(f"{wanted.check} decides nothing of {wanted.id}")
            return passed
        if judged.status not in ANSWERS:
            raise Missing(f"{wanted.id} is {judged.status}: {judged.reason or 'no reason was given'}")
        return judged.status

    def _of_columns(self, call: FunctionCall) -> Value:
        self.by["the published table"] = None
        texts = [value for value in call.arguments if isinstance(value, str)]
        column_values = [self._column(parse(text)) for text in texts]
        lengths = [float(value) for value in call.arguments if not isinstance(value, str)]
        options = {name: float(value) for name, value in call.keywords.items()}
        try:
            return getattr(columns, call.name)(*column_values, *lengths, **options)
        except NoValueError as error:
            kind = OutsideTableError if call.name == "growth" else Missing
            raise kind(str(error)) from None

    def _column(self, expression: Expression) -> dict[float, float]:
        """The expression's value by the table's first column, over the rows that have its numbers.

        ValueError where two rows begin with the same number, so that none is left out silently.
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
    if name == functions.TRACED:
        return "traced here over fake tensors"
    if name == functions.FACT:
        return "a fact of the case, read here"
    return f"compiled for {target}"


def _identity(call: FunctionCall, compiled: Compiled, wanted: Need) -> Value:
    """A program's hash, or a custom call or opcode count of it. Missing where its module cannot be read."""
    static = compiled.static
    if static.program is None:
        raise Missing(_absence(compiled, wanted, "program"))
    if call.name == "calls":
        return call.arguments[2] in static.custom_calls
    if call.name == "ops":
        if not static.opcodes:
            raise Missing(f"the operations of {wanted.id} are not known")
        return static.opcodes.get(str(call.arguments[2]), 0)
    return static.program


def _fact(compiled: Compiled, wanted: Need, name: str) -> Value:
    value = compiled.facts.get(name)
    if value is None:
        facts = ", ".join(compiled.facts) or "none"
        raise Missing(f'{wanted.id} has no fact "{name}"; it has {facts}')
    return value


def _of_device(name: str, target: str) -> float:
    device = accelerators.target(target).accelerator
    if device is None:
        raise Missing(f"{target} has no data file")
    value = device.peak_flops.get(PEAK_DTYPE) if name == "peak" else getattr(device, DEVICE_FIGURES[name])
    if value is None:
        raise Missing(f"the data file of {target} has no {name}")
    return value


def _raise_foiled(wanted: Need, status: str, reason: str) -> NoReturn:
    detail = f": {reason}" if reason else ""
    raise Missing(f"{wanted.id} {FOILED[status]} here{detail}", incomplete=True)


def _absence(compiled: Compiled, wanted: Need, name: str) -> str:
    if compiled.status != "ok" and compiled.reason:
        return f"{wanted.id}: {compiled.reason}"
    return f"{name} of {wanted.id}: {compiled.static.unavailable.get(name, 'not given')}"
