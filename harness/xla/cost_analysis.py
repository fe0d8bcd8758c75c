"""The work that XLA counts in a program: FLOPs, bytes accessed, and the time that both would take.

The source of the count, by target:

- cpu: the compiled program. A custom call counts as −1 FLOP and −1 byte, so that one spoils both sums.
- tpu: libtpu. It counts FLOPs of few of its own custom calls (`TopK`); none of `PartialReduce` and of
  `tpu_custom_call`, which is a Pallas kernel or one of libtpu's own, such as its softmax fused with a
  product. Some (`Cholesky`) are −1 in the sums and in `optimal_seconds`, which shows how many there are.
- cuda without a device: the compiler gives no count, so XLA's analysis of the optimised module is used,
  with custom calls as on the cpu; it gives no times.
- a gpu at hand: its own client, which counts custom calls. A program with loops is analysed as on cuda
  without a device, because that analysis has been seen to count a body once.

All count a loop's body once; `loop_cost` adds the further turns. `optimal_s` has no such correction and
is unavailable where a loop turns more than once.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from harness.xla.hlo import Graph
from harness.xla.loop_cost import COUNTS, FREE, Further, analysis, further, put_back

NO_COUNT = "the compiler gives none"
ONCE = ("cpu", "tpu")  # targets whose compiler counts a loop's body once; jaxlib 0.10.2 and libtpu 0.0.52
ONE_TURN = "the compiler's counts the body of a loop once"
UNREAD = "the body of a loop, for the module's text could not be read,"


@dataclass
class DeviceCost:
    """One device's work; a figure that is not known is None, with its reason in `unavailable`."""

    flops: float | None = None
    bytes_accessed: float | None = None
    optimal_s: float | None = None
    source: str | None = None
    body_only: bool = False
    unavailable: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])


def work(
    compiled: Any,
    platform: str,
    modules: Sequence[Any],
    calls: Sequence[str],
    *,
    graph: Graph | None,
    turns: Mapping[str, int | None],
    looped: bool,
) -> DeviceCost:
    """The work of a compiled program.

    Args:
        compiled: jax's compiled program.
        platform: `cpu`, `tpu`, `cuda` or `gpu`.
        modules: its optimised modules.
        calls: targets of its custom calls.
        graph: the one module's graph; None where it could not be read.
        turns: how often each of its loops turns.
        looped: whether there are loops.
    """
    raw, from_compiler = _cost(compiled, modules, once=platform in ONCE or not looped)
    opaque = ", ".join(calls) if platform == "cpu" or not from_compiler else ""
    optimal = _number(raw.get("optimal_seconds"))
    # −1 for each such call plus the seconds of all others: −1.7 are two calls, if those take less than one.
    uncounted = math.ceil(-optimal) if optimal is not None and optimal < 0 and not opaque else 0
    cost = DeviceCost()
    for name, key in COUNTS.items():
        value = _number(raw.get(key))
        if opaque or value is None or value + uncounted < 0:
            cost.unavailable[name] = f"the custom call {opaque} is not counted" if opaque else NO_COUNT
        else:
            setattr(cost, name, put_back(value, uncounted))
    counted = cost.flops is not None or cost.bytes_accessed is not None
    worked = [call for call in calls if call not in FREE]
    if cost.flops is not None:
        cost.source = "compiled" if from_compiler else "optimised_module"
    once = looped and (graph is None or any(length != 1 for length in turns.values()))
    _optimal(cost, optimal, worked, once=once)
    if cost.flops is not None and worked:
        sums = "FLOPs and bytes" if cost.optimal_s is None else "FLOPs, bytes and optimal_s"
        cost.warnings.append(f"{sums} may leave out the custom calls {', '.join(worked)}")
    if looped and counted:
        _multiply(cost, graph, turns)
    return cost


def _cost(compiled: Any, modules: Sequence[Any], *, once: bool) -> tuple[Mapping[str, Any], bool]:
    """(XLA's cost analysis, whether the compiler made it).

    `once` says that the compiler counts each loop's body once; its counts are of no use otherwise.
    """
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    if (cost and once) or len(modules) != 1:
        return cost, True
    try:
        return analysis(modules[0]), False
    except (ImportError, AttributeError, RuntimeError):  # another jaxlib, or no cpu backend to count with
        return cost, True


def _multiply(cost: DeviceCost, graph: Graph | None, turns: Mapping[str, int | None]) -> None:
    """Add the work of the loops' turns after their first."""
    added = Further(once={UNREAD})
    # Another jaxlib's module may not be read, which fails no run.
    with suppress(ImportError, AttributeError, LookupError, ValueError, RecursionError):
        added = further(graph, turns) if graph else added
    if cost.bytes_accessed is not None:
        cost.bytes_accessed += added.counts["bytes_accessed"]
    if cost.flops is not None:
        cost.flops += added.counts["flops"]
        if any(added.counts.values()):
            cost.source = "optimised_module"
    cost.body_only = bool(added.once)
    cost.warnings += [f"FLOPs and bytes count {part} once (body only)" for part in sorted(added.once)]


def _optimal(cost: DeviceCost, optimal: float | None, calls: Sequence[str], *, once: bool) -> None:
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
