"""The matrix products of a module, and which of them each is computed from.

XLA keeps neither names nor places of some products, but no pass of it turns round what depends on what: two
products of one size differ in those before and after them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.xla.collectives import ARRAY
from harness.xla.hlo import Computation, Graph, Instruction

LEFT = re.compile(r"\blhs_contracting_dims=\{([\d,]*)\}")
ELEMENT = re.compile(r"\bindex=(\d+)")
BARRIER = "opt-barrier"  # keeps XLA from moving what is around it, and is nothing afterwards
CALLED = {"call": "to_apply", "fusion": "calls", "while": "body"}

Size = tuple[int, int]  # the elements of a result, and the terms of the sum that each of them is
Key = tuple[Size, tuple[Size, ...], tuple[Size, ...]]
Flow = Any  # the products that a value is computed from; of a tuple those of each element


@dataclass(frozen=True)
class Product:
    """`marks` are the stages around it, the outermost first; `before`, those it depends on, by number."""

    name: str
    size: Size
    marks: tuple[str, ...]
    before: frozenset[int]


class Products:
    """The products of a module in its text's order; one that is called from two places is there twice."""

    def __init__(self, graph: Graph, marks: Callable[[str], Sequence[str]]) -> None:
        self.graph, self.marks = graph, marks
        self.found: list[Product] = []
        self._follow(graph.entry, (), ())

    @cached_property
    def after(self) -> list[frozenset[int]]:
        """By product the numbers of those that depend on it."""
        found: list[set[int]] = [set() for _ in self.found]
        for number, product in enumerate(self.found):
            for each in product.before:
                found[each].add(number)
        return [frozenset(each) for each in found]

    @cached_property
    def sizes(self) -> Counter[Size]:
        return Counter(product.size for product in self.found)

    def keys(self, comparable: Collection[Size]) -> list[Key]:
        """By product its size, and the sizes of those before and after it, `comparable` ones alone."""

        def sizes(numbers: Iterable[int]) -> tuple[Size, ...]:
            return tuple(sorted(size for n in numbers if (size := self.found[n].size) in comparable))

        return [
            (product.size, sizes(product.before), sizes(after))
            for product, after in zip(self.found, self.after, strict=True)
        ]

    def _follow(self, name: str, arguments: Sequence[Flow], outer: tuple[str, ...]) -> Flow:
        computation, values = self.graph.computations[name], {}
        for each in computation.instructions.values():
            values[each.name] = self._value(computation, each, values, arguments, outer)
        return values[computation.root]

    def _value(
        self,
        computation: Computation,
        each: Instruction,
        values: dict[str, Flow],
        arguments: Sequence[Flow],
        outer: tuple[str, ...],
    ) -> Flow:
        if each.opcode == "parameter":
            return arguments[int(each.argument)] if arguments else frozenset()
        operands = [values[name] for name in each.operands]
        if each.opcode == "tuple":
            return tuple(operands)
        if each.opcode == "get-tuple-element" and isinstance(operands[0], tuple):
            index = ELEMENT.search(each.attributes)
            return operands[0][int(index[1])] if index else _union(operands)
        if each.opcode == BARRIER:
            return operands[0]
        marks = tuple(self.marks(each.attributes))
        if each.opcode in CALLED:
            (callee,) = each.called[CALLED[each.opcode]]
            # The names in a called function begin at its own; those in a loop's body are whole.
            result = self._follow(callee, operands, (*outer, *marks) if each.opcode == "call" else outer)
            return _merge(operands[0], result) if each.opcode == "while" else result
        if each.opcode == "conditional":
            branches = [
                self._follow(callee, [operand], outer)
                for callee, operand in zip(each.branches, operands[1:], strict=True)
            ]
            return _union(branches)
        before = _union(operands)
        if each.opcode != "dot":
            return before
        self.found.append(Product(each.name, product_size(computation, each), (*outer, *marks), before))
        return before | {len(self.found) - 1}


def product_size(computation: Computation, product: Instruction) -> Size:
    """The elements of a product's result, and the terms of the sum that each of them is."""
    left = _sizes(computation.instructions[product.operands[0]].shape)
    contracted = LEFT.search(product.attributes)
    axes = [int(axis) for axis in contracted[1].split(",") if axis] if contracted else []
    return math.prod(_sizes(product.shape)), math.prod(left[axis] for axis in axes)


def _union(flows: Iterable[Flow]) -> frozenset[int]:
    found: frozenset[int] = frozenset()
    for flow in flows:
        found |= _union(flow) if isinstance(flow, tuple) else flow
    return found


def _merge(one: Flow, other: Flow) -> Flow:
    """Of a loop's state before it and after a turn."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(_merge(*pair) for pair in zip(one, other, strict=True))
    return _union([one, other])


def _sizes(shape: str) -> list[int]:
    ((_, sizes),) = ARRAY.findall(shape)
    return [int(size) for size in sizes.split(",") if size]
