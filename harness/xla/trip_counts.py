"""Trip counts of the loops of an optimised module.

XLA writes `known_trip_count` on the loops of cpu and cuda programs. libtpu (0.0.52) drops it. Then the trip
count is derived from a counter's initial value, the step that the body adds, and the bound in the condition.
All must be constants: integer scalars that follow from constants of the module are propagated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.xla.hlo import STARTS, Graph, Instruction

KNOWN = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
SWAPPED = {"GT": "LT", "GE": "LE"}  # with the bound on the left
SCALAR = re.compile(r"[su]\d+\[\]")
WHOLE = re.compile(r"-?\d+$")
SAME = ("copy", "bitcast", "convert", "reshape", "optimization-barrier")  # opcodes that keep the value


def count_trips(graph: Graph) -> dict[str, int | None]:
    """The trip count of each `while` reachable from the entry, by instruction name; None: not known."""
    counts: dict[str, int | None] = {}
    _walk(Scope(graph, graph.entry), counts)
    return counts


def _walk(scope: Scope, counts: dict[str, int | None]) -> None:
    for instruction in scope.computation.instructions.values():
        if instruction.opcode == "while":
            length = _trip_count(scope, instruction)
            # A computation that is called with different bounds has no single trip count.
            counts[instruction.name] = length if counts.get(instruction.name, length) == length else None
        for name, parameters in _inner(scope, instruction):
            _walk(Scope(scope.graph, name, parameters), counts)


def _inner(scope: Scope, instruction: Instruction) -> Iterator[tuple[str, list[Any]]]:
    """(computation, known values of its parameters) of what an instruction calls."""
    if instruction.opcode == "while":
        for role in ("body", "condition"):
            yield instruction.called[role][0], [scope.carried(instruction)]
    elif instruction.opcode == "conditional":
        arguments = ([value] for value in scope.arguments(instruction)[1:])
        yield from zip(instruction.callees, arguments, strict=True)
    elif instruction.opcode in ("call", *STARTS):
        yield from ((name, scope.arguments(instruction)) for name in instruction.callees)


def _trip_count(scope: Scope, loop: Instruction) -> int | None:
    if known := KNOWN.search(loop.attributes):
        return int(known[1])
    start, step = scope.carry(loop)
    inside = tuple(
        Carried(index) if value is None else value for index, value in enumerate(scope.carried(loop))
    )
    condition = Scope(scope.graph, loop.called["condition"][0], [inside]).result
    if not isinstance(condition, ComparedScalars):
        return None
    counter, bound, direction = condition.left, condition.right, condition.direction
    if isinstance(bound, Carried):
        counter, bound, direction = bound, counter, SWAPPED.get(direction, "")
    if not isinstance(counter, Carried) or not isinstance(bound, int):
        return None
    first, after = start[counter.index], step[counter.index]
    if not isinstance(first, int) or not isinstance(after, Carried) or after.index != counter.index:
        return None
    # The condition may compare the counter plus a constant, which shifts the initial value.
    return trip_count(first + counter.added, after.added, direction, bound)


def trip_count(first: int, added: int, direction: str, bound: int) -> int | None:
    """How many of first, first + added, … are below the bound before one is not; None: not known.

    jax has no loops that count down, or until two numbers are equal.

    >>> trip_count(1, 3, "LT", 100), trip_count(9, 1, "LT", 9), trip_count(0, 0, "LT", 1)
    (33, 0, None)
    """
    if direction not in ("LT", "LE"):
        return None
    distance = bound - first + (direction == "LE")
    if distance <= 0:
        return 0
    return -(-distance // added) if added > 0 else None


@dataclass(frozen=True)
class Carried:
    """A symbolic value: element `index` of a loop's carry before the body, plus `added`."""

    index: int
    added: int = 0


@dataclass(frozen=True)
class ComparedScalars:
    """The comparison of two values, for example a loop's condition."""

    direction: str
    left: Any
    right: Any


class Scope:
    """A computation with the known values of its parameters.

    A value is an int, a `Carried`, a `ComparedScalars`, a tuple of values, or None (not known).
    """

    def __init__(self, graph: Graph, name: str, parameters: Sequence[Any] = ()) -> None:
        self.graph = graph
        self.parameters = parameters
        self.computation = graph.computations[name]
        self._values: dict[str, Any] = {}

    @property
    def result(self) -> Any:
        return self.value(self.computation.root)

    def value(self, name: str) -> Any:
        if name not in self._values:
            instruction = self.computation.instructions.get(name)
            self._values[name] = self._value(instruction) if instruction else None
        return self._values[name]

    def arguments(self, instruction: Instruction) -> list[Any]:
        return [self.value(name) for name in instruction.operands]

    def carried(self, loop: Instruction) -> Any:
        """The known values of a loop's carry inside it: loop-invariant elements keep their initial value."""
        start, step = self.carry(loop)
        return tuple(
            value if after == Carried(index) else None
            for index, (value, after) in enumerate(zip(start, step, strict=True))
        )

    def carry(self, loop: Instruction) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """(a loop's carry before it, the carry that its body returns); both empty if not known."""
        start = self.value(loop.operands[0])
        if not isinstance(start, tuple):
            return (), ()
        before = tuple(map(Carried, range(len(start))))
        step = Scope(self.graph, loop.called["body"][0], [before]).result
        return (start, step) if isinstance(step, tuple) else ((), ())

    def _value(self, instruction: Instruction) -> Any:
        match instruction.opcode:
            case "constant":
                whole = SCALAR.match(instruction.shape) and WHOLE.match(instruction.argument)
                return int(instruction.argument) if whole else None
            case "parameter":
                number = int(instruction.argument)
                return self.parameters[number] if number < len(self.parameters) else None
            case "tuple":
                return tuple(self.arguments(instruction))
            case "copy-start":  # the copy, the original and a context
                return (self.value(instruction.operands[0]), None, None)
            case "get-tuple-element" | "copy-done":
                return _element(
                    self.value(instruction.operands[0]), int(_attribute(instruction, "index") or 0)
                )
            case "compare":
                return ComparedScalars(_attribute(instruction, "direction"), *self.arguments(instruction))
            case "add" | "subtract" if SCALAR.match(instruction.shape):
                return _sum(*self.arguments(instruction), sign=1 if instruction.opcode == "add" else -1)
            case "fusion" | "call":
                (callee,) = instruction.callees
                return Scope(self.graph, callee, self.arguments(instruction)).result
            # After a loop, as inside it, only the loop-invariant elements are known.
            case "while":
                return self.carried(instruction)
            case opcode:
                return self.value(instruction.operands[0]) if opcode in SAME else None


def _attribute(instruction: Instruction, name: str) -> str:
    match = re.search(rf"\b{name}=(\w+)", instruction.attributes)
    return match[1] if match else ""


def _element(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, tuple) and index < len(value) else None


def _sum(left: Any, right: Any, sign: int) -> Any:
    if isinstance(left, int) and isinstance(right, Carried) and sign == 1:
        left, right = right, left
    if not isinstance(right, int):
        return None
    if isinstance(left, Carried):
        return Carried(left.index, left.added + sign * right)
    return left + sign * right if isinstance(left, int) else None
