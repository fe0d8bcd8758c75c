"""Constant propagation: the integer scalars of an optimised module that follow from its constants."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.xla.hlo import Graph, Instruction

SCALAR = re.compile(r"[su]\d+\[\]")
WHOLE = re.compile(r"-?\d+$")
SAME = ("copy", "bitcast", "convert", "reshape", "optimization-barrier")  # opcodes that keep the value


@dataclass(frozen=True)
class Carried:
    """A symbolic value: element `index` of a loop's carry before the body, plus `added`."""

    index: int
    added: int = 0


class Carry:
    """A symbolic value: a loop's whole carry before the body."""


@dataclass(frozen=True)
class ComparedScalars:
    """The comparison of two values, such as a loop's condition."""

    direction: str
    left: Any
    right: Any


class Scope:
    """A computation with the known values of its parameters.

    A value is an int, a `Carried`, a `Carry`, a `ComparedScalars`, a tuple of values, or None (not known).
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
        start, step = self.value(loop.operands[0]), self.step(loop)
        if not isinstance(start, tuple) or not isinstance(step, tuple):
            return None
        return tuple(
            value if after == Carried(index) else None
            for index, (value, after) in enumerate(zip(start, step, strict=True))
        )

    def step(self, loop: Instruction) -> Any:
        """The carry that a loop's body returns."""
        return Scope(self.graph, loop.called["body"][0], [Carry()]).result

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
    if isinstance(value, Carry):
        return Carried(index)
    return value[index] if isinstance(value, tuple) and index < len(value) else None


def _sum(left: Any, right: Any, sign: int) -> Any:
    if isinstance(left, int) and isinstance(right, Carried) and sign == 1:
        left, right = right, left
    if not isinstance(right, int):
        return None
    if isinstance(left, Carried):
        return Carried(left.index, left.added + sign * right)
    return left + sign * right if isinstance(left, int) else None
