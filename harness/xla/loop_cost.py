"""Loop correction of XLA's cost analysis: FLOPs and bytes of loops with more than one iteration.

XLA's analyses count the body of a `while`, with its condition, once: on the cpu, in the analysis of an
optimised module and in libtpu's own. So the body of a loop with trip count n is analysed as a module of its
own, and n − 1 times its cost is added. The count outside of loops, and of the first iteration, stays the
compiler's; on the TPU the two differ in bytes, because libtpu knows its own layouts and copies.
The analysis of a body cannot count a custom call. Where the compiler counted one itself, only its first
iteration is included; the rest of the body is multiplied.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from harness.xla.hlo import STARTS, Graph, Instruction, jaxlib_hlo

FREE = ("AllocateBuffer",)  # custom calls that move and compute nothing
# Custom calls that libtpu (0.0.52) counts as 0 or −1 FLOPs: left out of every iteration alike.
LEFT_OUT = ("Cholesky", "InvertDiagBlocksLowerTriangular", "PartialReduce", "tpu_custom_call")
COUNTS = {"flops": "flops", "bytes_accessed": "bytes accessed"}
Counts = dict[str, float]


@dataclass
class AddedCost:
    """The cost that loops add after their first iteration, by figure, and the parts still counted once."""

    counts: Counts = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    once: set[str] = field(default_factory=set[str])


class UncountableError(ValueError):  # a property of a computation, not a fault
    """XLA's analysis cannot count a computation; the message says why."""


@cache
def cpu_client() -> Any:
    """The client whose analysis counts any optimised module. RuntimeError: jax has no cpu backend."""
    return importlib.import_module("jax").local_devices(backend="cpu")[0].client


def module_cost(module: Any) -> dict[str, float]:
    """XLA's cost analysis of an HLO module of any backend, custom calls counted as −1 each."""
    return importlib.import_module("jaxlib._jax").hlo_module_cost_analysis(cpu_client(), module)


def without_penalties(total: float, calls: int) -> float:
    """XLA's sum without the −1 that it contains for each of these custom calls, rounded to float32.

    XLA adds in float32, which cannot represent every integer above 2²⁴. A −1 added to a larger sum is
    rounded away, and one added earlier is lost in later roundings; adding it back in float64 would give
    impossible sums, such as 192937985 for 192937984. Rounded to float32 the correction is exact below 2²⁴,
    and above it to the last digit (or to `calls`, if that is more), since it is not known when each −1 was
    added.
    """
    return float(np.float32(total + calls)) if calls else total


def added_cost(graph: Graph, trip_counts: Mapping[str, int | None]) -> AddedCost:
    """What the entry's loops add to figures that count each body once.

    `trip_counts` are by the name of the `while`; None: not known.
    """
    return _Loops(graph, trip_counts).added_cost(graph.entry)


class _Loops:
    def __init__(self, graph: Graph, trip_counts: Mapping[str, int | None]) -> None:
        self.graph = graph
        self.trip_counts = trip_counts
        self.parse = jaxlib_hlo().hlo_module_from_text
        self.counted: dict[str, Counts] = {}
        self.fused = {
            name
            for instruction in graph.instructions
            if instruction.opcode == "fusion"
            for callee in instruction.called["calls"]
            for name in graph.reach(callee)
        }

    def added_cost(self, name: str) -> AddedCost:
        total = AddedCost()
        for instruction in self.graph.computations[name].instructions.values():
            if instruction.called and self._loops(instruction):
                part = self._part(instruction)
                total.once |= part.once
                total.counts = _plus(total.counts, part.counts)
        return total

    def _part(self, instruction: Instruction) -> AddedCost:
        inner = instruction.callees
        if instruction.opcode == "while":
            return self._while(instruction, inner)
        if instruction.opcode == "conditional":
            return self._conditional(instruction.branches)
        if instruction.opcode in ("call", *STARTS):
            return self.added_cost(inner[0])
        return AddedCost(once={f"the body of a loop in a {instruction.opcode}"})

    def _while(self, loop: Instruction, inner: list[str]) -> AddedCost:
        parts = [self.added_cost(name) for name in inner]
        once: set[str] = set().union(*(part.once for part in parts))
        extra = _plus(*(part.counts for part in parts))
        trips = self.trip_counts.get(loop.name)
        if trips is None:
            return AddedCost(extra, {*once, "the body of a loop of unknown length"})
        if trips == 1:
            return AddedCost(extra, once)
        try:
            iteration = _plus(extra, *(self.once(name) for name in inner))
        except UncountableError as reason:
            return AddedCost(extra, {*once, f"the body of a loop ({reason})"})
        opaque = sorted({call for name in inner for call in self._opaque(name)})
        once |= {f"the custom call {call} in a loop" for call in opaque}
        # The compiler's count has the first iteration, and `extra` what inner loops add to it. For a trip
        # count of 0 this subtracts that iteration.
        return AddedCost({name: extra[name] + (trips - 1) * iteration[name] for name in COUNTS}, once)

    def _conditional(self, branches: list[str]) -> AddedCost:
        """XLA counts the most expensive branch; with the loops' further iterations it may be another one."""
        parts = {name: self.added_cost(name) for name in branches}
        reasons: set[str] = set().union(*(part.once for part in parts.values()))
        try:
            once = {name: self.once(name) for name in branches}
        except UncountableError as reason:
            return AddedCost(once={*reasons, f"the body of a loop in a branch ({reason})"})
        added = {
            key: max(once[name][key] + parts[name].counts[key] for name in branches)
            - max(once[name][key] for name in branches)
            for key in COUNTS
        }
        return AddedCost(added, reasons)

    def once(self, name: str) -> Counts:
        """FLOPs and bytes of a computation by itself, with inner loops counted once and custom calls as 0."""
        if name not in self.counted:
            try:
                cost = module_cost(self.parse(self.graph.module(name)))
            except RuntimeError as error:
                raise UncountableError(f"its analysis failed: {str(error).splitlines()[0]}") from error
            reached = self.graph.reach(name)
            # XLA counts each custom call as −1: in FLOPs, and in bytes unless it is part of a fusion.
            calls = {part: len(self._targets(part)) for part in reached}
            bare = sum(count for part, count in calls.items() if part not in self.fused)
            counts = {
                "flops": without_penalties(cost.get("flops", 0.0), sum(calls.values())),
                "bytes_accessed": without_penalties(cost.get("bytes accessed", 0.0), bare),
            }
            if min(counts.values()) < 0:
                raise UncountableError("its analysis gives a negative figure")
            self.counted[name] = counts
        return self.counted[name]

    def _opaque(self, name: str) -> set[str]:
        """The custom calls that the compiler may have counted, but only in the first iteration."""
        calls = {call for part in self.graph.reach(name) for call in self._targets(part)}
        return calls.difference(FREE, LEFT_OUT)

    def _targets(self, name: str) -> list[str]:
        instructions = self.graph.computations[name].instructions.values()
        return [target for instruction in instructions if (target := instruction.target)]

    def _loops(self, instruction: Instruction) -> bool:
        parts = {part for name in instruction.callees for part in self.graph.reach(name)}
        inside = (each for part in parts for each in self.graph.computations[part].instructions.values())
        return any(each.opcode == "while" for each in (instruction, *inside))


def _plus(*counts: Counts) -> Counts:
    return {name: sum(part[name] for part in counts) for name in COUNTS}
