"""FLOPs and bytes of a program whose loops turn more than once.

XLA's analyses count the body of a `while`, with its condition, once: on the cpu, in the analysis of
an optimised module and in libtpu's own. A body that turns n times is therefore analysed as a module
of its own, and n − 1 times its cost is added. The count outside of loops, and of the first turn, stays
the compiler's; on the TPU the two differ in bytes by what libtpu knows of its own layouts and copies.
The analysis of a body cannot count a custom call. Where the compiler counted one itself, only its first
turn is included; the rest of the body is multiplied.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from harness.xla.hlo import STARTS, Graph, Instruction
from harness.xla.jaxlib_hlo import jaxlib_hlo

FREE = ("AllocateBuffer",)  # custom calls that move and compute nothing
# Custom calls that libtpu counts as no FLOPs, or as −1 (0.0.52): left out of every turn alike.
LEFT_OUT = ("Cholesky", "InvertDiagBlocksLowerTriangular", "PartialReduce", "tpu_custom_call")
COUNTS = {"flops": "flops", "bytes_accessed": "bytes accessed"}
Counts = dict[str, float]


@dataclass
class Further:
    """The cost that loops add after their first turn, by figure, and the parts still counted once."""

    counts: Counts = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    once: set[str] = field(default_factory=set[str])


class Uncounted(ValueError):  # noqa: N818  # a property of a computation, not a fault
    """XLA's analysis cannot count a computation; the message says why."""


@cache
def cpu_client() -> Any:
    """The client whose analysis counts any optimised module. RuntimeError: jax has no cpu backend."""
    return importlib.import_module("jax").local_devices(backend="cpu")[0].client


def analysis(module: Any) -> dict[str, float]:
    """XLA's cost analysis of an HLO module of any backend, custom calls counted as −1 each."""
    return importlib.import_module("jaxlib._jax").hlo_module_cost_analysis(cpu_client(), module)


def put_back(total: float, calls: int) -> float:
    """XLA's sum without the −1 that it contains for each of these custom calls, rounded as float32.

    XLA adds in float32, which cannot hold every whole number from 2²⁴ on. A −1 added to such a sum is rounded
    away, and one added earlier goes with a later rounding; adding it back in float64 would give figures that
    are no sum, such as 192937985 for 192937984. Rounded like the sums, the correction is exact below 2²⁴, and
    above it to the last digit (or to `calls`, where those are more), since it is not known when each −1
    was added.
    """
    return float(np.float32(total + calls)) if calls else total


def further(graph: Graph, turns: Mapping[str, int | None]) -> Further:
    """What the entry's loops add to figures that count each body once.

    `turns` is how often each loop turns, by the name of its `while`; None: not known.
    """
    return _Loops(graph, turns).further(graph.entry)


class _Loops:
    def __init__(self, graph: Graph, turns: Mapping[str, int | None]) -> None:
        self.graph = graph
        self.turns = turns
        self.parse = jaxlib_hlo().hlo_module_from_text
        self.counted: dict[str, Counts] = {}
        self.fused = {
            name
            for instruction in graph.instructions
            if instruction.opcode == "fusion"
            for callee in instruction.called["calls"]
            for name in graph.reach(callee)
        }

    def further(self, name: str) -> Further:
        total = Further()
        for instruction in self.graph.computations[name].instructions.values():
            if instruction.called and self._loops(instruction):
                part = self._part(instruction)
                total.once |= part.once
                total.counts = _plus(total.counts, part.counts)
        return total

    def _part(self, instruction: Instruction) -> Further:
        inner = instruction.callees
        if instruction.opcode == "while":
            return self._while(instruction, inner)
        if instruction.opcode == "conditional":
            return self._conditional(instruction.branches)
        if instruction.opcode in ("call", *STARTS):
            return self.further(inner[0])
        return Further(once={f"the body of a loop in a {instruction.opcode}"})

    def _while(self, loop: Instruction, inner: list[str]) -> Further:
        parts = [self.further(name) for name in inner]
        once: set[str] = set().union(*(part.once for part in parts))
        extra = _plus(*(part.counts for part in parts))
        length = self.turns.get(loop.name)
        if length is None:
            return Further(extra, {*once, "the body of a loop of unknown length"})
        if length == 1:
            return Further(extra, once)
        try:
            turn = _plus(extra, *(self.once(name) for name in inner))
        except Uncounted as reason:
            return Further(extra, {*once, f"the body of a loop ({reason})"})
        opaque = sorted({call for name in inner for call in self._opaque(name)})
        once |= {f"the custom call {call} in a loop" for call in opaque}
        # The compiler's own count has the first turn, `extra` what inner loops add
        # to it. Where a loop turns 0 times this takes that turn back.
        return Further({name: extra[name] + (length - 1) * turn[name] for name in COUNTS}, once)

    def _conditional(self, branches: list[str]) -> Further:
        """XLA counts the most expensive branch; which one that is can change with the loops inside."""
        parts = {name: self.further(name) for name in branches}
        reasons: set[str] = set().union(*(part.once for part in parts.values()))
        try:
            once = {name: self.once(name) for name in branches}
        except Uncounted as reason:
            return Further(once={*reasons, f"the body of a loop in a branch ({reason})"})
        added = {
            key: max(once[name][key] + parts[name].counts[key] for name in branches)
            - max(once[name][key] for name in branches)
            for key in COUNTS
        }
        return Further(added, reasons)

    def once(self, name: str) -> Counts:
        """FLOPs and bytes of a computation by itself, loops inside counted once, custom calls as none."""
        if name not in self.counted:
            try:
                cost = analysis(self.parse(self.graph.module(name)))
            except RuntimeError as error:
                raise Uncounted(f"its analysis failed: {str(error).splitlines()[0]}") from error
            reached = self.graph.reach(name)
            # XLA counts each custom call as −1: in FLOPs, and in bytes unless it is part of a fusion.
            calls = {part: len(self._targets(part)) for part in reached}
            bare = sum(count for part, count in calls.items() if part not in self.fused)
            counts = {
                "flops": put_back(cost.get("flops", 0.0), sum(calls.values())),
                "bytes_accessed": put_back(cost.get("bytes accessed", 0.0), bare),
            }
            if min(counts.values()) < 0:
                raise Uncounted("its analysis gives a negative figure")
            self.counted[name] = counts
        return self.counted[name]

    def _opaque(self, name: str) -> set[str]:
        """The custom calls that a compiler may have counted in the first turn, and nobody in the others."""
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
