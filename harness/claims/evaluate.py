"""Evaluation of a claim's expressions: calls are answered by compiled cases, contracts, devices, tables."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.analysis.scaling import crossing_lengths
from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.claims.evidence import ends_of, need_of
from harness.claims.expression import (
    ANALYTIC,
    COLUMNS,
    DEVICE,
    EXPONENT,
    FACT,
    IDENTITY,
    JUDGED,
    TESTED,
    TRACED,
    Expression,
    FunctionCall,
    Value,
    parse,
)
from harness.claims.model import Claim, ClaimEvidence, Judged, Missing, Need, OutsideTableError
from harness.run.compile.request import CompileResult

Column = Mapping[float, float]  # a number by the row's length


def growth(column: Column, length: float) -> float:
    """The value at a length over the value at half of it."""
    if length not in column or length / 2 not in column:
        raise OutsideTableError(f"the table holds no pair of rows at {length / 2:g} and {length:g}")
    if column[length / 2] <= 0:
        raise ValueError(f"growth needs numbers above zero; the row at {length / 2:g} has none")
    return column[length] / column[length / 2]


def fit(column: Column, length: float, *, start: float = 0, square: float = 1) -> float:
    """A + b·N + square·c·N² at a length, by least squares over the rows from `start` on.

    Residuals are relative, so that every row weighs alike; `square` scales the quadratic term, for example
    by 0.5 where blocks twice as long halve it. Missing with fewer than four rows, because three
    coefficients fit three rows exactly.
    """
    import numpy as np

    lengths = np.array([n for n in sorted(column) if n >= start])
    values = np.array([column[n] for n in lengths])
    if len(lengths) <= 3:
        raise Missing(f"a curve of three coefficients takes four rows; {len(lengths)} are there")
    if (values <= 0).any():
        raise ValueError("a fit with relative residuals needs numbers above zero")
    unit = lengths[-1]  # powers of lengths as they are would leave few digits for the solution
    powers = np.stack([np.ones_like(lengths), lengths / unit, (lengths / unit) ** 2], axis=1)
    constant, linear, quadratic = np.linalg.lstsq(powers / values[:, None], np.ones_like(values), rcond=None)[
        0
    ]
    at = length / unit
    return float(constant + linear * at + square * quadratic * at**2)


def first_win(slower: Column, faster: Column) -> float:
    """The first length in the table from which on the second column stays below the first."""
    rows = _common_rows(slower, faster)
    lead = len(rows)
    while lead and rows[lead - 1][2] < rows[lead - 1][1]:
        lead -= 1
    if lead == len(rows):
        raise Missing("the second never stays below the first")
    return rows[lead][0]


def crossover(slower: Column, faster: Column) -> float:
    """The length where the ratio last crosses 1, interpolated between rows linearly in both logarithms.

    ValueError for a row that holds zero or less, which has no logarithm.
    """
    rows = _common_rows(slower, faster)
    for row in rows:
        if min(row) <= 0:
            raise ValueError(f"a crossover needs numbers above zero; a row has {min(row)} at {row[0]}")
    crossings = crossing_lengths((length, math.log(first / second)) for length, first, second in rows)
    if not crossings:
        raise Missing("neither passes the other within the table")
    return crossings[-1]


def _common_rows(first: Column, second: Column) -> list[tuple[float, float, float]]:
    return [(length, first[length], second[length]) for length in sorted(first.keys() & second.keys())]


PEAK_DTYPE = "bf16"
DEVICE_FIGURES = {"memory": "memory_bytes", "bandwidth": "bandwidth_bytes_s", "vector_ops": "vector_ops"}
COUNTED = {"flops", "bytes_accessed"}  # per execution of a loop's body
DECIDED_STATUSES = {
    "ok",
    "incorrect",
}  # a contract's statuses that judge the implementation; the others do not
MACHINE_FAILURES: Mapping[str, str] = {  # statuses that may be due to the machine, which may be slow or small
    "timeout": "took too long",
    "crashed": "crashed",
    "skipped": "was skipped",
    "oom": "ran out of memory",
}


ORIGINS: Mapping[str, str] = {  # what was not compiled for its target
    "status": "its contract, run here",
    "check": "its check, run here",
    TRACED: "traced here over fake tensors",
    FACT: "a fact of the case, read here",
}


COLUMN_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "first_win": first_win,
    "crossover": crossover,
    "growth": growth,
    "fit": fit,
}


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
        return bool(self.calls & TESTED)

    @property
    def bounded_by_hardware(self) -> bool:
        """Whether it rests on a device, on a count of work, or on what was compiled."""
        return bool(self.calls & {*TESTED, *DEVICE, *ANALYTIC})

    def value(self, expression: Expression, names: Mapping[str, Value]) -> Value:
        """The expression's value. Missing where a part of it has none; ValueError where it is invalid."""
        return expression.value(names, self._answer)

    def _answer(self, name: str, arguments: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
        """The value of a function call; notes what it was read from."""
        call = FunctionCall(name, arguments, keywords)
        self.calls.add(name)
        if name in COLUMNS:
            return self._column_value(call)
        if name in DEVICE:
            self.by["the device's file"] = None
            return _of_device(name, str(arguments[0]))
        if name == EXPONENT:
            return self._exponent(call)
        wanted = need_of(call, self.claim, self.catalog)
        if name in ANALYTIC:
            self.by["the family's cost formula"] = None
            return self._cost(name, wanted)
        self.targets[wanted.target or accelerators.HOST] = None
        self.by[ORIGINS.get(name) or f"compiled for {wanted.target}"] = None
        value_of = self._judged_value if name in JUDGED else self._compiled_value
        return value_of(call, wanted)

    def _exponent(self, call: FunctionCall) -> Value:
        ends: list[float] = []
        for end in ends_of(call):
            value = self._answer(end.name, end.arguments, end.keywords)
            if isinstance(value, bool | str) or value <= 0:
                length = end.keywords["seq"]
                raise Missing(f"{end.name} of {end.arguments[0]} is {value} at {length}: it has no exponent")
            ends.append(value)
        *_, low, high = call.arguments
        return math.log(ends[1] / ends[0]) / math.log(float(high) / float(low))

    def _compiled_value(self, call: FunctionCall, wanted: Need) -> Value:
        """A figure, fact, program hash or count of operations of a compiled case."""
        compiled, name = self.evidence.compiled[wanted], call.name
        static = compiled.static
        if compiled.transient:
            raise Missing(compiled.reason or compiled.status, incomplete=True)
        _refuse_machine_failure(wanted, compiled)
        if name == FACT:
            if (fact := compiled.facts.get(str(call.arguments[1]))) is None:
                facts = ", ".join(compiled.facts) or "none"
                raise Missing(f'{wanted.id} has no fact "{call.arguments[1]}"; it has {facts}')
            return fact
        figure = "temp_bytes" if name == TRACED else name
        if static.body_only and figure in COUNTED:
            raise Missing(f"{figure} of {wanted.id} count a loop's body once")
        value: Value | None = getattr(static, "program" if name in IDENTITY else figure)
        if value is None and compiled.status != "ok" and compiled.reason:
            raise Missing(f"{wanted.id}: {compiled.reason}")
        if value is None:
            missing = "program" if name in IDENTITY else figure
            raise Missing(f"{missing} of {wanted.id}: {static.unavailable.get(missing, 'not given')}")
        if name == "calls":
            return call.arguments[2] in static.custom_calls
        if name == "ops":
            if not static.opcodes:
                raise Missing(f"the operations of {wanted.id} are not known")
            return static.opcodes.get(str(call.arguments[2]), 0)
        return value

    def _cost(self, name: str, wanted: Need) -> Value:
        cost, figure = self.evidence.costs[wanted], name.removeprefix("cost_")
        if isinstance(cost, str):
            raise Missing(cost)
        value: float | None = getattr(cost, figure)
        if value is None:
            raise Missing(f"the family has no formula of {figure} for {wanted.id}")
        return value

    def _judged_value(self, call: FunctionCall, wanted: Need) -> Value:
        """The status of a contract, or whether a check passed."""
        judged = self.evidence.judged[wanted]
        if judged.status is None:
            raise Missing(judged.reason, incomplete=True)
        _refuse_machine_failure(wanted, judged)
        if call.name == "check":
            passed = judged.checks.get(wanted.check)
            if passed is None:
                raise Missing(f"{wanted.check} decides nothing of {wanted.id}")
            return passed
        if judged.status not in DECIDED_STATUSES:
            raise Missing(f"{wanted.id} is {judged.status}: {judged.reason or 'no reason was given'}")
        return judged.status

    def _column_value(self, call: FunctionCall) -> Value:
        self.by["the published table"] = None
        texts = [value for value in call.arguments if isinstance(value, str)]
        column_values = [self._column(parse(text)) for text in texts]
        lengths = [float(value) for value in call.arguments if not isinstance(value, str)]
        options = {name: float(value) for name, value in call.keywords.items()}
        return COLUMN_FUNCTIONS[call.name](*column_values, *lengths, **options)

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


def _of_device(name: str, target: str) -> float:
    device = accelerators.target(target).accelerator
    if device is None:
        raise Missing(f"{target} has no data file")
    value = device.peak_flops.get(PEAK_DTYPE) if name == "peak" else getattr(device, DEVICE_FIGURES[name])
    if value is None:
        raise Missing(f"the data file of {target} has no {name}")
    return value


def _refuse_machine_failure(wanted: Need, answer: CompileResult | Judged) -> None:
    if failure := MACHINE_FAILURES.get(answer.status or ""):
        detail = f": {answer.reason}" if answer.reason else ""
        raise Missing(f"{wanted.id} {failure} here{detail}", incomplete=True)
