"""Matrix products of a module, and their data dependencies.

XLA's passes drop the metadata of some products, but they preserve dependencies: products of equal size can be
told apart by the products before and after them.
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
BARRIER = "opt-barrier"  # the identity, to XLA a barrier for code motion
CALLED = {"call": "to_apply", "fusion": "calls", "while": "body"}

Size = tuple[int, int]  # (elements of the result, length of the contraction)
Key = tuple[Size, tuple[Size, ...], tuple[Size, ...]]
Flow = Any  # the products that a value depends on, by number; for a tuple, those of each element


@dataclass(frozen=True)
class Product:
    """A product: `marks` are its stages, outermost first; `before` the products it depends on, by number."""

    name: str
    size: Size
    marks: tuple[str, ...]
    before: frozenset[int]


class Products:
    """The products of a module in textual order; one in a computation that is called twice counts twice."""

    def __init__(self, graph: Graph, marks: Callable[[str], Sequence[str]]) -> None:
        self.graph, self.marks = graph, marks
        self.products: list[Product] = []
        self._follow(graph.entry, (), ())

    @cached_property
    def after(self) -> list[frozenset[int]]:
        """For each product, the numbers of those that depend on it."""
        after: list[set[int]] = [set() for _ in self.products]
        for number, product in enumerate(self.products):
            for each in product.before:
                after[each].add(number)
        return [frozenset(each) for each in after]

    @cached_property
    def sizes(self) -> Counter[Size]:
        return Counter(product.size for product in self.products)

    def keys(self, comparable: Collection[Size]) -> list[Key]:
        """For each product its size, and those of the products before and after it that are `comparable`."""

        def sizes(numbers: Iterable[int]) -> tuple[Size, ...]:
            return tuple(sorted(size for n in numbers if (size := self.products[n].size) in comparable))

        return [
            (product.size, sizes(product.before), sizes(after))
            for product, after in zip(self.products, self.after, strict=True)
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
            # Names in a called function are relative to the call; those in a loop's body are absolute.
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
        self.products.append(Product(each.name, product_size(computation, each), (*outer, *marks), before))
        return before | {len(self.products) - 1}


def product_size(computation: Computation, product: Instruction) -> Size:
    """(elements of a product's result, length of its contraction)."""
    left = _sizes(computation.instructions[product.operands[0]].shape)
    contracted = LEFT.search(product.attributes)
    axes = [int(axis) for axis in contracted[1].split(",") if axis] if contracted else []
    return math.prod(_sizes(product.shape)), math.prod(left[axis] for axis in axes)


def _union(flows: Iterable[Flow]) -> frozenset[int]:
    numbers: frozenset[int] = frozenset()
    for flow in flows:
        numbers |= _union(flow) if isinstance(flow, tuple) else flow
    return numbers


def _merge(one: Flow, other: Flow) -> Flow:
    """The dependencies of a loop's result: of its initial state and of the state after an iteration."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(_merge(*pair) for pair in zip(one, other, strict=True))
    return _union([one, other])


def _sizes(shape: str) -> list[int]:
    ((_, sizes),) = ARRAY.findall(shape)
    return [int(size) for size in sizes.split(",") if size]
