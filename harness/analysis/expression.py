"""What the functions in a claim's expressions answer: compiled cases, contracts, devices, tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NoReturn

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.spec.claim import (
    ANALYTIC,
    DEVICE,
    JUDGED,
    TABLE,
    Claim,
    Need,
)
from harness.spec.expression import Called, Expression, Value, parse
from harness.spec.record import Cost, Static
from harness.sweep.needs import need

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


@dataclass(frozen=True)
class Compiled:
    """A case compiled for a target. `absent`: there is no compiler for it here, and `reason` says so."""

    static: Static
    status: str = "ok"
    reason: str = ""
    absent: bool = False


@dataclass(frozen=True)
class Judged:
    """How a case's contract ended on this machine; no status where it did not run."""

    status: str | None
    reason: str = ""


@dataclass(frozen=True)
class Evidence:
    """What was found out for the needs of all claims."""

    compiled: Mapping[Need, Compiled] = field(default_factory=dict[Need, Compiled])
    costs: Mapping[Need, Cost | str] = field(default_factory=dict[Need, "Cost | str"])
    judged: Mapping[Need, Judged] = field(default_factory=dict[Need, Judged])


@dataclass
class Reader:
    """Evaluates the expressions of one claim, and remembers what they read: `by`, and for which `targets`."""

    claim: Claim
    catalog: Catalog
    evidence: Evidence
    by: dict[str, None] = field(default_factory=dict[str, None])
    targets: dict[str, None] = field(default_factory=dict[str, None])

    def value(self, expression: Expression, names: Mapping[str, Value]) -> Value:
        """Missing where something it needs is not to be had; ValueError where it makes no sense."""
        return expression.value(names, self._answer)

    def _answer(self, name: str, arguments: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
        called = Called(name, arguments, keywords)
        if name in TABLE:
            return self._of_table(called)
        if name in DEVICE:
            self.by["the device's file"] = None
            return _of_device(name, str(arguments[0]))
        wanted = need(called, self.claim, self.catalog)
        if name in ANALYTIC:
            self.by["the family's cost formula"] = None
            return self._cost(name, wanted)
        if name == JUDGED:
            self.by["its contract, run here"] = None
            self.targets[accelerators.HOST] = None
            return self._status(wanted)
        self.by[f"compiled for {wanted.target}"] = None
        self.targets[wanted.target] = None
        return self._compiled(called, wanted)

    def _compiled(self, called: Called, wanted: Need) -> Value:
        found = self.evidence.compiled.get(wanted)
        if found is None:
            raise Missing(f"{wanted.id} was not compiled")
        static, name = found.static, called.name
        if found.absent:
            raise Missing(found.reason, incomplete=True)
        if found.status in FOILED:
            _foiled(wanted, found.status, found.reason)
        if name in {"program", "calls"}:
            if static.program is None:
                raise Missing(_reason(found, wanted, "program"))
            return called.arguments[2] in static.custom_calls if name == "calls" else static.program
        if static.body_only and name in COUNTED:
            raise Missing(f"{name} of {wanted.id} count a loop's body once")
        value: float | None = getattr(static, name)
        if value is None:
            raise Missing(_reason(found, wanted, name))
        return value

    def _cost(self, name: str, wanted: Need) -> Value:
        cost = self.evidence.costs.get(wanted)
        if not isinstance(cost, Cost):
            raise Missing(cost or f"{wanted.id} has no analytic cost")
        value: float | None = getattr(cost, name.removeprefix("cost_"))
        if value is None:
            raise Missing(f"the family has no formula of {name.removeprefix('cost_')} for {wanted.id}")
        return value

    def _status(self, wanted: Need) -> Value:
        judged = self.evidence.judged.get(wanted)
        if judged is None or judged.status is None:
            raise Missing(judged.reason if judged else f"{wanted.id} was not judged", incomplete=True)
        if judged.status in FOILED:
            _foiled(wanted, judged.status, judged.reason)
        if judged.status not in ANSWERS:
            raise Missing(f"{wanted.id} is {judged.status}: {judged.reason or 'no reason was given'}")
        return judged.status

    def _of_table(self, called: Called) -> Value:
        self.by["the published table"] = None
        columns = [self._column(parse(str(text))) for text in called.arguments]
        first, second = columns
        rows = [(length, first[length], second[length]) for length in sorted(first.keys() & second.keys())]
        return first_win(rows) if called.name == "first_win" else crossover(rows)

    def _column(self, expression: Expression) -> dict[float, float]:
        """The expression by the table's first column, over the rows that have its numbers.

        ValueError where two of these begin with the same number: none is left out in silence.
        """
        found: dict[float, float] = {}
        table = self.claim.table
        for row in table.rows if table else ():
            names = {**self.claim.names(), **(table.numbers(row) if table else {})}
            if expression.names() <= names.keys() and isinstance(row[0], int | float):
                value = self.value(expression, names)
                if isinstance(value, bool | str):
                    raise ValueError(f'"{expression.text}" is no number')
                if row[0] in found:
                    raise ValueError(f"two rows of the table begin with {row[0]}; a length has one row")
                found[row[0]] = value
        return found


Rows = list[tuple[float, float, float]]  # (length, the slower kind, the one that is to win)


def first_win(rows: Rows) -> float:
    """The first length of the grid from which on the second stays below the first."""
    lead = len(rows)
    while lead and rows[lead - 1][2] < rows[lead - 1][1]:
        lead -= 1
    if lead == len(rows):
        raise Missing("the second never stays below the first")
    return rows[lead][0]


def crossover(rows: Rows) -> float:
    """Where the ratio passes 1 for the last time, between grid points linearly in both logarithms.

    ValueError for a row that holds zero or less, which has no logarithm.
    """
    for row in rows:
        if min(row) <= 0:
            raise ValueError(f"a crossover needs numbers above zero; a row has {min(row)} at {row[0]}")
    logs = [(math.log(length), math.log(first / second)) for length, first, second in rows]
    for (short, below), (long, above) in reversed(list(pairwise(logs))):
        if (below <= 0) != (above <= 0):
            return math.exp(short + (long - short) * -below / (above - below))
    raise Missing("neither passes the other within the table")


def _of_device(name: str, target: str) -> float:
    found = accelerators.target(target).accelerator
    if found is None:
        raise Missing(f"{target} has no data file")
    if name == "memory":
        return found.memory_bytes
    if name == "bandwidth":
        return found.bandwidth_bytes_s
    if PEAK_DTYPE not in found.peak_flops:
        raise Missing(f"{target} has no peak for {PEAK_DTYPE}")
    return found.peak_flops[PEAK_DTYPE]


def _foiled(wanted: Need, status: str, reason: str) -> NoReturn:
    told = f": {reason}" if reason else ""
    raise Missing(f"{wanted.id} {FOILED[status]} here{told}", incomplete=True)


def _reason(found: Compiled, wanted: Need, name: str) -> str:
    if found.status != "ok" and found.reason:
        return f"{wanted.id}: {found.reason}"
    return f"{name} of {wanted.id}: {found.static.unavailable.get(name, 'not given')}"
