"""Evaluation of a claim's expressions: calls are answered by compiled cases, contracts, devices, tables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.analysis.stats import FASTER, SAME, SLOWER
from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.claims import columns, functions
from harness.claims.answers import ClaimEvidence, Compiled, Judged, Missing
from harness.claims.expression import Expression, FunctionCall, Value, parse
from harness.claims.model import Claim, Need
from harness.claims.needs import ends_of, need_of
from harness.report.tables.machine_speedups_table import describe_verdicts

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
    functions.TRACED: "traced here over fake tensors",
    functions.FACT: "a fact of the case, read here",
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
        return bool(self.calls & functions.TESTED)

    @property
    def bounded_by_hardware(self) -> bool:
        """Whether it rests on a device, on a count of work, or on what was compiled."""
        return bool(self.calls & {*functions.TESTED, *functions.DEVICE, *functions.ANALYTIC})

    def value(self, expression: Expression, names: Mapping[str, Value]) -> Value:
        """The expression's value. Missing where a part of it has none; ValueError where it is invalid."""
        return expression.value(names, self._answer)

    def _answer(self, name: str, arguments: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
        """The value of a function call; notes what it was read from."""
        call = FunctionCall(name, arguments, keywords)
        self.calls.add(name)
        if name in functions.COLUMNS:
            return self._column_value(call)
        if name in functions.DEVICE:
            self.by["the device's file"] = None
            return _of_device(name, str(arguments[0]))
        if name == functions.EXPONENT:
            return self._exponent(call)
        wanted = need_of(call, self.claim, self.catalog)
        if name in functions.ANALYTIC:
            self.by["the family's cost formula"] = None
            return self._cost(name, wanted)
        self.targets[wanted.target or accelerators.HOST] = None
        if name == functions.SPEEDUP:
            return self._speedup(wanted)
        self.by[ORIGINS.get(name) or f"compiled for {wanted.target}"] = None
        value_of = self._judged_value if name in functions.JUDGED else self._compiled_value
        return value_of(call, wanted)

    def _speedup(self, wanted: Need) -> Value:
        """The speedup nearest to 1 of the machines that have it, where all have one verdict."""
        found = self.evidence.timed.get(wanted)
        if found is None:
            raise Missing(f"no run that is kept has {wanted.id} beside its baseline")
        said = describe_verdicts(found)
        self.by[f"stored runs: {said}"] = None
        if len(found.verdicts) > 1 or found.verdicts.keys().isdisjoint({FASTER, SLOWER, SAME}):
            raise Missing(f"the machines have no verdict in common: {said}")
        return min((m.speedup.value or 1.0 for m in found.machines), key=lambda value: abs(math.log(value)))

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
        if compiled.absent:
            raise Missing(compiled.reason, incomplete=True)
        _refuse_machine_failure(wanted, compiled)
        if name == functions.FACT:
            if (fact := compiled.facts.get(str(call.arguments[1]))) is None:
                facts = ", ".join(compiled.facts) or "none"
                raise Missing(f'{wanted.id} has no fact "{call.arguments[1]}"; it has {facts}')
            return fact
        figure = "temp_bytes" if name == functions.TRACED else name
        if static.body_only and figure in COUNTED:
            raise Missing(f"{figure} of {wanted.id} count a loop's body once")
        value: Value | None = getattr(static, "program" if name in functions.IDENTITY else figure)
        if value is None and compiled.status != "ok" and compiled.reason:
            raise Missing(f"{wanted.id}: {compiled.reason}")
        if value is None:
            missing = "program" if name in functions.IDENTITY else figure
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
        return getattr(columns, call.name)(*column_values, *lengths, **options)

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


def _refuse_machine_failure(wanted: Need, answer: Compiled | Judged) -> None:
    if failure := MACHINE_FAILURES.get(answer.status or ""):
        detail = f": {answer.reason}" if answer.reason else ""
        raise Missing(f"{wanted.id} {failure} here{detail}", incomplete=True)
