"""Constant propagation: the scalars of an optimised module that follow from its constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.xla.hlo import Graph, Instruction

SCALAR = re.compile(r"[su]\d+\[\]")
WHOLE = re.compile(r"-?\d+$")
SAME = ("copy", "bitcast", "convert", "reshape", "optimization-barrier")


@dataclass(frozen=True)
class Carried:
    """Element `index` of what a loop carries, as it was before the body, with `added` to it."""

    index: int
    added: int = 0


class Carry:
    """All that a loop carries, before the body."""


@dataclass(frozen=True)
class ComparedScalars:
    direction: str
    left: Any
    right: Any


class Scope:
    """A computation and what is known of its parameters.

    A value is an int, a `Carried`, a `Carry`, a `Comparison`, a tuple of values, or None: not known.
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

    def arguments(self, one: Instruction) -> list[Any]:
        return [self.value(name) for name in one.operands]

    def carried(self, loop: Instruction) -> Any:
        """What is known inside a loop of what it carries: what its body hands on as it came."""
        start, step = self.value(loop.operands[0]), self.step(loop)
        if not isinstance(start, tuple) or not isinstance(step, tuple):
            return None
        return tuple(
            value if after == Carried(index) else None
            for index, (value, after) in enumerate(zip(start, step, strict=True))
        )

    def step(self, loop: Instruction) -> Any:
        """What a loop's body makes of what it carries."""
        return Scope(self.graph, loop.called["body"][0], [Carry()]).result

    def _value(self, one: Instruction) -> Any:
        match one.opcode:
            case "constant":
                whole = SCALAR.match(one.shape) and WHOLE.match(one.argument)
                return int(one.argument) if whole else None
            case "parameter":
                number = int(one.argument)
                return self.parameters[number] if number < len(self.parameters) else None
            case "tuple":
                return tuple(self.arguments(one))
            case "copy-start":  # the copy, the original and a context
                return (self.value(one.operands[0]), None, None)
            case "get-tuple-element" | "copy-done":
                return _element(self.value(one.operands[0]), _index(one))
            case "compare":
                return ComparedScalars(_attribute(one, "direction"), *self.arguments(one))
            case "add" | "subtract" if SCALAR.match(one.shape):
                return _sum(*self.arguments(one), sign=1 if one.opcode == "add" else -1)
            case "fusion" | "call":
                (callee,) = (name for names in one.called.values() for name in names)
                return Scope(self.graph, callee, self.arguments(one)).result
            case "while":
                return self.carried(one)
            case opcode:
                return self.value(one.operands[0]) if opcode in SAME else None


def _attribute(one: Instruction, name: str) -> str:
    found = re.search(rf"\b{name}=(\w+)", one.attributes)
    return found[1] if found else ""


def _index(one: Instruction) -> int:
    return int(_attribute(one, "index") or 0)


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
