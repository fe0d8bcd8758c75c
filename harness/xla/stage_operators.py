"""The operators of a compiled program, each with its stages.

In jax a stage is a name scope during tracing. XLA stores it in the metadata of the resulting instructions:
`jit(f)/stage:window/stage:mask/lt`. A fusion may contain operators of several stages.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.core.grouped import grouped
from harness.core.stage import BACKWARD, JOINED, SCOPE
from harness.xla.collectives import ARRAY, size_of
from harness.xla.hlo import BRANCHING, Computation, Graph, Instruction
from harness.xla.trip_counts import count_trips

MARK = re.compile(rf"{SCOPE}([\w-]+)")
NAME = re.compile(r'\bop_name="([^"]*)"')
LEFT = re.compile(r"\blhs_contracting_dims=\{([\d,]*)\}")
CONTAINERS = ("call", "conditional", "while")
# They compute nothing, and fusions duplicate them wherever they are used.
MOVED = ("bitcast", "broadcast", "constant", "get-tuple-element", "iota", "parameter", "tuple")
SLICES = ("dynamic-slice", "gather", "slice")
UPDATE = "dynamic-update-slice"
NO_WORK = ("after-all", "bitcast", "constant", "get-tuple-element", "parameter", "tuple")
SECOND_HALVES = ("-done", "-update")  # of asynchronous operators, which count at their start
LIBRARY = re.compile(r"gemm|matmul|conv|attention", re.IGNORECASE)  # custom calls that compute products

Size = tuple[int, int]  # of a product: (elements of the result, length of the contraction)


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
    product gets the stage of the lowered products of its size. Of several stages it gets those that occur in
    its computation.
    """

    def __init__(self, optimised: str, lowered: str) -> None:
        self.graph = Graph(optimised)
        before = Graph(lowered)
        self.products = _stages_of_products(before, before.entry)
        self.stages: dict[str, str] = {}  # of every instruction, by its name
        self.containers: set[str] = set()  # instructions that take only the time of what they call
        for computation in self.graph.computations.values():
            neighbours = {
                stage for each in computation.instructions.values() for stage in self._stages_in_scope(each)
            }
            for name, instruction in computation.instructions.items():
                self.stages[name] = self._stage(computation, instruction, neighbours)
                if instruction.opcode in CONTAINERS:
                    self.containers.add(name)

    @cached_property
    def operators(self) -> list[StageOperator]:
        """The operators that a call runs."""
        ran = _executed_operators(self.graph, count_trips(self.graph))
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
        """(operators run, FLOPs, bytes) of a call by stage; None if an operator's figure is not known."""
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

    def _stage(self, computation: Computation, instruction: Instruction, neighbours: Collection[str]) -> str:
        stages = self._stages_in_scope(instruction)
        for part, each in self._inner(instruction) or [(computation, instruction)]:
            if each.opcode == "dot" and not NAME.search(each.attributes):
                possible = self.products.get(_product_size(part, each), set())
                stages |= (possible & {*neighbours} or possible) if len(possible) > 1 else possible
        return JOINED.join(sorted(_without_unmarked(stages)))

    def _flops(self, computation: Computation, instruction: Instruction) -> int | None:
        if instruction.opcode == "dot":
            return 2 * math.prod(_product_size(computation, instruction))
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
    """The stages without unmarked code, which has no stage or, in a backward pass, only `backward`."""
    in_backward = any(stage.startswith(f"{BACKWARD}/") for stage in stages)
    return {*stages} - {""} - ({BACKWARD} if in_backward else set())


def _marks(attributes: str) -> list[str]:
    name = NAME.search(attributes)
    path = name[1].split(";")[0] if name else ""  # XLA joins the names of merged instructions
    return [*([BACKWARD] if "transpose(" in path else []), *MARK.findall(path)]


def _path(marks: Sequence[str]) -> str:
    """The stage of these marks, for example `selected/mask`; in a backward pass below `backward`."""
    backward = [BACKWARD] if BACKWARD in marks else []
    return "/".join([*backward, *(mark for mark in marks if mark != BACKWARD)])


def _stages_of_products(
    graph: Graph, name: str, outer: Sequence[str] = (), stages: dict[Size, set[str]] | None = None
) -> dict[Size, set[str]]:
    """The stages of a lowered module's products by size, in a computation and those that it calls."""
    stages = defaultdict[Size, set[str]](set) if stages is None else stages
    computation = graph.computations[name]
    for each in computation.instructions.values():
        marks = (*outer, *_marks(each.attributes))
        if each.opcode == "dot":
            stages[_product_size(computation, each)].add(_path(marks))
        for callee in each.callees:
            # Names in a called function are relative to the call; those in a loop's body are absolute.
            _stages_of_products(graph, callee, marks if each.opcode == "call" else outer, stages)
    return stages


def _product_size(computation: Computation, product: Instruction) -> Size:
    """(elements of a product's result, length of its contraction)."""
    left = _sizes(computation.instructions[product.operands[0]].shape)
    contracted = LEFT.search(product.attributes)
    axes = [int(axis) for axis in contracted[1].split(",") if axis] if contracted else []
    return math.prod(_sizes(product.shape)), math.prod(left[axis] for axis in axes)


def _sizes(shape: str) -> list[int]:
    ((_, sizes),) = ARRAY.findall(shape)
    return [int(size) for size in sizes.split(",") if size]


def _executed_operators(
    graph: Graph, trip_counts: Mapping[str, int | None]
) -> Iterator[tuple[Computation, Instruction, int | None]]:
    """(computation, operator, executions) of what the entry runs; None: number of executions not known."""
    for computation, times in graph.executions(trip_counts):
        for each in computation.instructions.values():
            if each.opcode not in (*NO_WORK, "while", *BRANCHING) and not each.opcode.endswith(SECOND_HALVES):
                yield computation, each, times


def _times(amount: int | None, runs: int | None) -> int | None:
    """The product; None if either factor is not known, unless the amount is 0."""
    return 0 if amount == 0 else None if amount is None or runs is None else amount * runs


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = [*amounts]
    return None if None in known else sum(amount or 0 for amount in known)


def _read(fused: Computation, parameter: int) -> int:
    """Bytes that a fusion reads of an operand: only the slices, if it uses only slices."""
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
    """Bytes that a fusion writes: only the update, if it updates an array in place."""
    instruction = fused.instructions[name]
    if instruction.opcode == UPDATE:
        return size_of(fused.instructions[instruction.operands[1]].shape)
    if instruction.opcode in ("bitcast", "tuple"):
        return sum(_written(fused, operand) for operand in instruction.operands)
    return size_of(instruction.shape)
