"""XLA's cost analysis of a program: FLOPs and bytes accessed.

The source of the counts, by target:

- cpu: the compiled program. A custom call counts as −1 FLOP and −1 byte, which makes both sums wrong.
- tpu: libtpu. It counts the FLOPs of few of its own custom calls (`TopK`), but none of `PartialReduce` and
  `tpu_custom_call`, which is a Pallas kernel or one of libtpu's own, such as its softmax fused with a
  product. Some (`Cholesky`) count as −1 in the sums and in `optimal_seconds`, which shows their number.
- cuda without a device: the compiler gives no count, so XLA's analysis of the optimised module is used,
  with custom calls as on the cpu.
- an available gpu: its own client, which counts custom calls. A program with loops is analysed as on cuda
  without a device, because only that analysis is known to count a loop's body once.

All count a loop's body once; `added_cost` adds the further iterations.
"""

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from harness.xla.hlo import STARTS, Graph, jaxlib_hlo

FREE = ("AllocateBuffer",)  # custom calls that move and compute nothing
# Custom calls that libtpu (0.0.52) counts as 0 or −1 FLOPs: left out of every iteration alike.
LEFT_OUT = ("Cholesky", "InvertDiagBlocksLowerTriangular", "PartialReduce", "tpu_custom_call")
COUNTS = {"flops": "flops", "bytes_accessed": "bytes accessed"}
Counts = dict[str, float]
NO_COUNT = "the compiler reports none"
ONCE = ("cpu", "tpu")  # targets whose compiler counts a loop's body once (jaxlib 0.10.2, libtpu 0.0.52)
ENTERED = ("call", *STARTS)  # whose computations the compiler counts as often as they are called
UNREAD = "the body of a loop (the module's text cannot be read)"


class OptimisedProgram(NamedTuple):
    """An optimised module of jaxlib's, its graph, and the trip counts of its loops by name."""

    module: Any
    graph: Graph
    trip_counts: Mapping[str, int | None]

    @property
    def looped(self) -> bool:
        return any(each.opcode == "while" for each in self.graph.instructions)

    @property
    def custom_calls(self) -> tuple[str, ...]:
        """The targets of the custom calls, sorted."""
        return tuple(sorted({each.target for each in self.graph.instructions if each.target}))


@dataclass
class AddedCost:
    """The cost that loops add after their first iteration, by figure, and the parts still counted once."""

    counts: Counts = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    once: set[str] = field(default_factory=set[str])


class UncountableError(ValueError):  # a property of a computation, not a bug
    """XLA's analysis cannot count a computation; the message says why."""


def module_cost(module: Any) -> dict[str, float]:
    """XLA's cost analysis of an HLO module of any backend; each custom call counts as −1.

    RuntimeError: jax has no cpu backend, whose client counts any module.
    """
    client = importlib.import_module("jax").local_devices(backend="cpu")[0].client
    return importlib.import_module("jaxlib._jax").hlo_module_cost_analysis(client, module)


def without_penalties(total: float, calls: int) -> float:
    """XLA's sum without the −1 that it contains for each of these custom calls, rounded to float32.

    XLA adds in float32, which cannot represent every integer above 2²⁴. A −1 added to a larger sum is
    rounded away, and one added earlier is lost in later roundings; adding it back in float64 would give
    impossible sums, such as 192937985 for 192937984. Rounded to float32 the correction is exact below 2²⁴,
    and above it to the last digit (or to `calls`, if that is more), since it is not known when each −1 was
    added.
    """
    return float(np.float32(total + calls)) if calls else total


class _Bodies:
    """Analyses of single computations, each made once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.counted: dict[str, Counts] = {}
        self.fused = {
            name
            for instruction in graph.instructions
            if instruction.opcode == "fusion"
            for callee in instruction.called["calls"]
            for name in graph.reach(callee)
        }

    def once(self, name: str) -> Counts:
        """FLOPs and bytes of a single computation, with inner loops counted once and custom calls as 0."""
        if name not in self.counted:
            try:
                cost = module_cost(jaxlib_hlo().hlo_module_from_text(self.graph.module(name)))
            except RuntimeError as error:
                raise UncountableError(f"its analysis failed: {str(error).splitlines()[0]}") from error
            # XLA counts each custom call as −1: in FLOPs, and in bytes unless it is part of a fusion.
            calls = {part: len(self._targets(part)) for part in self.graph.reach(name)}
            bare = sum(count for part, count in calls.items() if part not in self.fused)
            counts = {
                "flops": without_penalties(cost.get("flops", 0.0), sum(calls.values())),
                "bytes_accessed": without_penalties(cost.get("bytes accessed", 0.0), bare),
            }
            if min(counts.values()) < 0:
                raise UncountableError("its analysis gives a negative figure")
            self.counted[name] = counts
        return self.counted[name]

    def opaque(self, name: str) -> set[str]:
        """The custom calls that the compiler may have counted, but only in the first iteration."""
        calls = {call for part in self.graph.reach(name) for call in self._targets(part)}
        return calls.difference(FREE, LEFT_OUT)

    def have_a_loop(self, names: Sequence[str]) -> bool:
        parts = {part for name in names for part in self.graph.reach(name)}
        inside = (each for part in parts for each in self.graph.computations[part].instructions.values())
        return any(each.opcode == "while" for each in inside)

    def _targets(self, name: str) -> list[str]:
        instructions = self.graph.computations[name].instructions.values()
        return [target for instruction in instructions if (target := instruction.target)]


def added_cost(graph: Graph, trip_counts: Mapping[str, int | None]) -> AddedCost:
    """The cost that the entry's loops add to figures that count each body once: n − 1 times the body's cost.

    `trip_counts` are by the name of the `while`; None: not known. The analysis of a body cannot count a
    custom call. If the compiler counted one itself, only its first iteration is included.
    """
    total, bodies = AddedCost(), _Bodies(graph)
    known = {name: 1 if trips is None else trips for name, trips in trip_counts.items()}
    for computation, times in graph.executions(known, ENTERED):
        for each in computation.instructions.values():
            trips = trip_counts.get(each.name)
            if each.opcode != "while":
                if each.opcode not in ENTERED and bodies.have_a_loop(each.callees):
                    total.once.add(f"the body of a loop in a {each.opcode}")
            elif trips is None:
                total.once.add("the body of a loop of unknown length")
            elif trips != 1:
                # The compiler's count has the first iteration. For a trip count of 0 this subtracts it.
                _add(total, bodies, each.callees, (times or 0) * (trips - 1))
    return total


def _add(total: AddedCost, bodies: _Bodies, names: Sequence[str], times: int) -> None:
    """Add the cost of a loop's body and condition so many times."""
    try:
        counts = [bodies.once(name) for name in names]
    except UncountableError as reason:
        total.once.add(f"the body of a loop ({reason})")
        return
    for figure in COUNTS:
        total.counts[figure] += times * sum(each[figure] for each in counts)
    opaque = {call for name in names for call in bodies.opaque(name)}
    total.once |= {f"the custom call {call} in a loop" for call in opaque}


@dataclass
class DeviceCost:
    """One device's cost; a figure that is not known is None, with its reason in `unavailable`."""

    flops: float | None = None
    bytes_accessed: float | None = None
    source: str | None = None
    body_only: bool = False
    unavailable: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])


def device_cost(compiled: Any, platform: str, program: OptimisedProgram | None) -> DeviceCost:
    """The cost of a program that jax compiled for a platform. `program` None: its module is unreadable."""
    looped = program is None or program.looped  # an unreadable module may have a loop
    calls = program.custom_calls if program else ()
    raw, from_compiler = _cost(compiled, program, once=platform in ONCE or not looped)
    opaque = ", ".join(calls) if platform == "cpu" or not from_compiler else ""
    optimal = _number(raw.get("optimal_seconds"))
    # −1 for each uncounted call plus the seconds of the rest: −1.7 are two calls, if the rest takes under 1
    # s.
    uncounted = math.ceil(-optimal) if optimal is not None and optimal < 0 and not opaque else 0
    cost = DeviceCost()
    for name, key in COUNTS.items():
        value = _number(raw.get(key))
        if opaque or value is None or value + uncounted < 0:
            cost.unavailable[name] = f"the custom call {opaque} is not counted" if opaque else NO_COUNT
        else:
            setattr(cost, name, without_penalties(value, uncounted))
    worked = [call for call in calls if call not in FREE]
    if cost.flops is not None:
        cost.source = "compiled" if from_compiler else "optimised_module"
    if cost.flops is not None and worked:
        cost.warnings.append(f"FLOPs and bytes may not include the custom calls {', '.join(worked)}")
    if looped and (cost.flops is not None or cost.bytes_accessed is not None):
        _add_iterations(cost, program)
    return cost


def _cost(compiled: Any, program: OptimisedProgram | None, *, once: bool) -> tuple[Mapping[str, Any], bool]:
    """(XLA's cost analysis, whether it is the compiler's).

    The compiler's is used only if `once`: it is known to count each loop's body once.
    """
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    if (cost and once) or program is None:
        return cost, True
    try:
        return module_cost(program.module), False
    except RuntimeError:  # no cpu backend to count with
        return cost, True


def _add_iterations(cost: DeviceCost, program: OptimisedProgram | None) -> None:
    """Add the cost of the loops' iterations after the first."""
    added = AddedCost(once={UNREAD})
    if program is not None:
        added = added_cost(program.graph, program.trip_counts)
    if cost.bytes_accessed is not None:
        cost.bytes_accessed += added.counts["bytes_accessed"]
    if cost.flops is not None:
        cost.flops += added.counts["flops"]
        if any(added.counts.values()):
            cost.source = "optimised_module"
    cost.body_only = bool(added.once)
    cost.warnings += [f"FLOPs and bytes count {part} once (body only)" for part in sorted(added.once)]


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
