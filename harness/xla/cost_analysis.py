"""XLA's cost analysis of a program: FLOPs, bytes accessed, and the optimal time for both.

The source of the counts, by target:

- cpu: the compiled program. A custom call counts as −1 FLOP and −1 byte, so that one spoils both sums.
- tpu: libtpu. It counts the FLOPs of few of its own custom calls (`TopK`), but none of `PartialReduce` and
  `tpu_custom_call`, which is a Pallas kernel or one of libtpu's own, such as its softmax fused with a
  product. Some (`Cholesky`) count as −1 in the sums and in `optimal_seconds`, which shows their number.
- cuda without a device: the compiler gives no count, so XLA's analysis of the optimised module is used,
  with custom calls as on the cpu; it gives no times.
- a gpu at hand: its own client, which counts custom calls. A program with loops is analysed as on cuda
  without a device, because only that analysis is known to count a loop's body once.

All count a loop's body once; `loop_cost` adds the further iterations. `optimal_s` is not corrected, and
unavailable where a loop has another trip count than 1.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from harness.xla.hlo import Graph
from harness.xla.loop_cost import COUNTS, FREE, AddedCost, added_cost, module_cost, without_penalties

NO_COUNT = "the compiler gives none"
ONCE = ("cpu", "tpu")  # targets whose compiler counts a loop's body once (jaxlib 0.10.2, libtpu 0.0.52)
ONE_TURN = "the compiler's counts the body of a loop once"
UNREAD = "the body of a loop, for the module's text could not be read,"


@dataclass
class DeviceCost:
    """One device's cost; a figure that is not known is None, with its reason in `unavailable`."""

    flops: float | None = None
    bytes_accessed: float | None = None
    optimal_s: float | None = None
    source: str | None = None
    body_only: bool = False
    unavailable: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])


def device_cost(
    compiled: Any,
    platform: str,
    modules: Sequence[Any],
    calls: Sequence[str],
    *,
    graph: Graph | None,
    trip_counts: Mapping[str, int | None],
    looped: bool,
) -> DeviceCost:
    """The cost of a compiled program.

    Args:
        compiled: jax's compiled program.
        platform: `cpu`, `tpu`, `cuda` or `gpu`.
        modules: its optimised modules.
        calls: targets of its custom calls.
        graph: the one module's graph; None where it could not be read.
        trip_counts: of its loops, by name.
        looped: whether there are loops.
    """
    raw, from_compiler = _cost(compiled, modules, once=platform in ONCE or not looped)
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
    counted = cost.flops is not None or cost.bytes_accessed is not None
    worked = [call for call in calls if call not in FREE]
    if cost.flops is not None:
        cost.source = "compiled" if from_compiler else "optimised_module"
    once = looped and (graph is None or any(length != 1 for length in trip_counts.values()))
    _set_optimal_seconds(cost, optimal, worked, once=once)
    if cost.flops is not None and worked:
        sums = "FLOPs and bytes" if cost.optimal_s is None else "FLOPs, bytes and optimal_s"
        cost.warnings.append(f"{sums} may leave out the custom calls {', '.join(worked)}")
    if looped and counted:
        _add_iterations(cost, graph, trip_counts)
    return cost


def _cost(compiled: Any, modules: Sequence[Any], *, once: bool) -> tuple[Mapping[str, Any], bool]:
    """(XLA's cost analysis, whether it is the compiler's).

    The compiler's is used only if `once`: it is known to count each loop's body once.
    """
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    if (cost and once) or len(modules) != 1:
        return cost, True
    try:
        return module_cost(modules[0]), False
    except (ImportError, AttributeError, RuntimeError):  # another jaxlib, or no cpu backend to count with
        return cost, True


def _add_iterations(cost: DeviceCost, graph: Graph | None, trip_counts: Mapping[str, int | None]) -> None:
    """Add the cost of the loops' iterations after the first."""
    added = AddedCost(once={UNREAD})
    # Another jaxlib's modules may be unreadable, which must not fail the run.
    with suppress(ImportError, AttributeError, LookupError, ValueError, RecursionError):
        added = added_cost(graph, trip_counts) if graph else added
    if cost.bytes_accessed is not None:
        cost.bytes_accessed += added.counts["bytes_accessed"]
    if cost.flops is not None:
        cost.flops += added.counts["flops"]
        if any(added.counts.values()):
            cost.source = "optimised_module"
    cost.body_only = bool(added.once)
    cost.warnings += [f"FLOPs and bytes count {part} once (body only)" for part in sorted(added.once)]


def _set_optimal_seconds(
    cost: DeviceCost, optimal: float | None, calls: Sequence[str], *, once: bool
) -> None:
    if optimal is None or (optimal < 0 and not calls):
        cost.unavailable["optimal_s"] = NO_COUNT
    elif optimal < 0:
        cost.unavailable["optimal_s"] = f"the time of a custom call is not known, among {', '.join(calls)}"
    elif once:
        cost.unavailable["optimal_s"] = ONE_TURN
    else:
        cost.optimal_s = optimal


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
