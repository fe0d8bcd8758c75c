"""The operators that a compiled program runs, each with the stages that it belongs to.

In jax a stage is a name scope during tracing. XLA keeps it in the metadata of the resulting instructions:
`jit(f)/stage:window/stage:mask/lt`. A fusion may contain operators of several stages.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.core.grouped import grouped
from harness.core.stage import BACKWARD, JOINED, SCOPE
from harness.xla.collectives import size_of
from harness.xla.hlo import Computation, Graph, Instruction
from harness.xla.operator_weights import executed_operators
from harness.xla.products import Key, Products, Size, product_size
from harness.xla.trip_counts import count_trips

MARK = re.compile(rf"{SCOPE}([\w-]+)")
NAME = re.compile(r'\bop_name="([^"]*)"')
CONTAINERS = ("call", "conditional", "while")
# They compute nothing by themselves, and fusions duplicate them wherever they are used.
MOVED = ("bitcast", "broadcast", "constant", "get-tuple-element", "iota", "parameter", "tuple")
SLICES = ("dynamic-slice", "gather", "slice")
UPDATE = "dynamic-update-slice"
LIBRARY = re.compile(r"gemm|matmul|conv|attention", re.IGNORECASE)  # custom calls that compute products


@dataclass(frozen=True)
class StageOperator:
    """An operator that a call runs `runs` times (None: not known), with the figures of one run.

    `flops` are those of matrix products, None for a library's. `bytes` are of operands and results; of an
    operand that is sliced, only the slices.
    """

    name: str
    opcode: str
    stage: str  # all of them for a fusion that spans several; empty for none
    runs: int | None
    flops: int | None
    bytes: int


class StagedProgram:
    """An optimised module with its metadata, and the lowered module that it was compiled from.

    XLA rewrites some products and drops their metadata (jax 0.10.2, `batch-dot-simplification`). Such a
    product gets the stage of the lowered product of its size with products of the same sizes before and after
    it or, if there is none, of any lowered product of its size; among several stages, those that occur in its
    computation.
    """

    def __init__(self, optimised: str, lowered: str) -> None:
        self.graph = Graph(optimised)
        self.products = _stages_of_products(self.graph, Graph(lowered))
        self.stages: dict[str, str] = {}  # of every instruction, by its name
        self.containers: set[str] = set()  # instructions whose time is that of what they call
        for computation in self.graph.computations.values():
            beside = {
                stage for each in computation.instructions.values() for stage in self._stages_in_scope(each)
            }
            for name, instruction in computation.instructions.items():
                self.stages[name] = self._stage(computation, instruction, beside)
                if instruction.opcode in CONTAINERS:
                    self.containers.add(name)

    @cached_property
    def operators(self) -> list[StageOperator]:
        """The operators that a call runs."""
        ran = executed_operators(self.graph, count_trips(self.graph))
        return [
            StageOperator(
                each.name,
                each.opcode,
                self.stages[each.name],
                runs,
                self._flops(computation, each),
                self._bytes(computation, each),
            )
            for computation, each, runs in ran
        ]

    def counts(self) -> dict[str, tuple[int | None, int | None, int | None]]:
        """(operators run, FLOPs, bytes) of a call by stage; None where that of an operator is not known."""
        by_stage = grouped(self.operators, lambda operator: operator.stage)
        return {
            stage: (
                _sum(each.runs for each in operators),
                _sum(_times(each.flops, each.runs) for each in operators),
                _sum(_times(each.bytes, each.runs) for each in operators),
            )
            for stage, operators in by_stage.items()
        }

    def _inner(self, instruction: Instruction) -> list[tuple[Computation, Instruction]]:
        """(computation, instruction) of what a fusion computes; empty for other instructions."""
        names = instruction.called.get("calls", ()) if instruction.opcode == "fusion" else ()
        inner = [self.graph.computations[name] for name in names]
        return [
            (part, each) for part in inner for each in part.instructions.values() if each.opcode not in MOVED
        ]

    def _stages_in_scope(self, instruction: Instruction) -> set[str]:
        """The stages in the metadata of an instruction; for a fusion, of its inner instructions."""
        inner = [each for _, each in self._inner(instruction)] or [instruction]
        return {stage for each in inner if (stage := _path(_marks(each.attributes)))}

    def _stage(self, computation: Computation, instruction: Instruction, beside: Collection[str]) -> str:
        stages = self._stages_in_scope(instruction)
        for part, each in self._inner(instruction) or [(computation, instruction)]:
            if each.opcode == "dot" and not NAME.search(each.attributes):
                possible = self.products.get(each.name) or self.products.get(product_size(part, each), set())
                stages |= (possible & {*beside} or possible) if len(possible) > 1 else possible
        return JOINED.join(sorted(_without_unmarked(stages)))

    def _flops(self, computation: Computation, instruction: Instruction) -> int | None:
        if instruction.opcode == "dot":
            return 2 * math.prod(product_size(computation, instruction))
        if instruction.opcode == "convolution" or LIBRARY.search(instruction.target or ""):
            return None
        if instruction.opcode != "fusion":
            return 0
        return _sum(self._flops(part, each) for part, each in self._inner(instruction))

    def _bytes(self, computation: Computation, instruction: Instruction) -> int:
        names = instruction.operands
        sizes = [size_of(computation.instructions[name].shape) for name in names]
        if instruction.opcode in SLICES:
            return 2 * size_of(instruction.shape)
        if instruction.opcode == UPDATE:
            return 2 * sizes[1]
        if instruction.opcode != "fusion":
            return sum(sizes) + size_of(instruction.shape)
        (name,) = instruction.called["calls"]
        inner = self.graph.computations[name]
        read = sum(min(size, _read(inner, at)) for at, size in enumerate(sizes))
        return read + _written(inner, inner.root)


def _without_unmarked(stages: Collection[str]) -> set[str]:
    """The stages without those of unmarked code, which has no stage or, in a backward, only `backward`."""
    in_backward = any(stage.startswith(f"{BACKWARD}/") for stage in stages)
    return {*stages} - {""} - ({BACKWARD} if in_backward else set())


def _marks(attributes: str) -> list[str]:
    name = NAME.search(attributes)
    path = name[1].split(";")[0] if name else ""  # XLA joins the names of merged instructions
    return [*([BACKWARD] if "transpose(" in path else []), *MARK.findall(path)]


def _path(marks: Sequence[str]) -> str:
    """The stage of these marks, as `selected/mask`; in a backward below `backward`."""
    backward = [BACKWARD] if BACKWARD in marks else []
    return "/".join([*backward, *(mark for mark in marks if mark != BACKWARD)])


def _stages_of_products(optimised: Graph, lowered: Graph) -> dict[Size | str, set[str]]:
    """The stages of the optimised module's products by name, and of the lowered one's by size."""
    before, after = (Products(graph, _marks) for graph in (lowered, optimised))
    comparable = {size for size, count in before.sizes.items() if after.sizes[size] == count}
    by_key: dict[Key, set[str]] = defaultdict(set)
    stages: dict[Size | str, set[str]] = defaultdict(set)
    for product, key in zip(before.products, before.keys(comparable), strict=True):
        for found in (by_key[key], stages[product.size]):
            found.add(_path(product.marks))
    for product, key in zip(after.products, after.keys(comparable), strict=True):
        stages[product.name] |= by_key.get(key, set())
    return stages


def _times(amount: int | None, runs: int | None) -> int | None:
    """The product; None where either is not known, unless the amount is 0."""
    return 0 if amount == 0 else None if amount is None or runs is None else amount * runs


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = [*amounts]
    return None if None in known else sum(amount or 0 for amount in known)


def _read(fused: Computation, parameter: int) -> int:
    """Bytes that a fusion reads of an operand: only slices, if it uses nothing else of it."""
    (name,) = (
        each.name
        for each in fused.instructions.values()
        if each.opcode == "parameter" and each.argument == str(parameter)
    )
    total = 0
    for user in fused.instructions.values():
        if name not in user.operands:
            continue
        if user.opcode in SLICES and user.operands[0] == name:
            total += size_of(user.shape)
        elif user.opcode != UPDATE or user.operands[0] != name:
            return size_of(fused.instructions[name].shape)
    return total


def _written(fused: Computation, name: str) -> int:
    """Bytes that a fusion writes: of an array that it updates in place, only the update."""
    instruction = fused.instructions[name]
    if instruction.opcode == UPDATE:
        return size_of(fused.instructions[instruction.operands[1]].shape)
    if instruction.opcode in ("bitcast", "tuple"):
        return sum(_written(fused, operand) for operand in instruction.operands)
    return size_of(instruction.shape)
