"""The work that XLA counts in a program: FLOPs, bytes accessed, and the time that both would take.

Who counts, by target:

- cpu: the program itself. A custom call counts as −1 FLOP and −1 byte, so that one spoils both sums.
- tpu: libtpu. It has FLOPs for few of its own custom calls (`TopK`); none for `PartialReduce` and for
  `tpu_custom_call`, a Pallas kernel or one of libtpu's own such as its softmax fused with a product. Some
  (`Cholesky`) are −1 in the sums and in `optimal_seconds`, which says how many there are.
- cuda without a device: nobody, so that XLA's analysis of the optimised module does, custom calls as on
  the cpu; it knows of no times.
- gpu at hand: its own client, whose custom calls are counted; loops as on cuda without a device, for
  that is what has been seen to count a body once.

All count a loop's body once; what the further turns add comes from `loops`. `optimal_s` has no
such correction and is unavailable where a loop turns more than once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.xla.hlo import Graph
from harness.xla.loop_cost import COUNTS, FREE, Further, analysis, further, put_back

NO_COUNT = "the compiler gives none"
ONCE = ("cpu", "tpu")  # whose own counts hold a loop's body once; seen in jaxlib 0.10.2 and libtpu 0.0.52
ONE_TURN = "the compiler's counts the body of a loop once"
UNREAD = "the body of a loop, for the module's text could not be read,"


@dataclass
class DeviceCost:
    """One device's work; None for what is not known, with its reason in `unavailable`."""

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
        graph: of the one module; None where it is not needed, or could not be read.
        turns: how often each of its loops turns.
        looped: whether there are loops.
    """
    cost, own = _cost(compiled, modules, once=platform in ONCE or not looped)
    opaque = ", ".join(calls) if platform == "cpu" or not own else ""
    optimal = _number(cost.get("optimal_seconds"))
    uncounted = math.ceil(-optimal) if optimal is not None and optimal < 0 and not opaque else 0
    done = DeviceCost()
    for name, key in COUNTS.items():
        value = _number(cost.get(key))
        if opaque or value is None or value + uncounted < 0:
            done.unavailable[name] = f"the custom call {opaque} is not counted" if opaque else NO_COUNT
        else:
            setattr(done, name, put_back(value, uncounted))
    known = done.flops is not None or done.bytes_accessed is not None
    worked = [call for call in calls if call not in FREE]
    if done.flops is not None:
        done.source = "compiled" if own else "optimised_module"
    once = looped and (graph is None or any(length != 1 for length in turns.values()))
    _optimal(done, optimal, worked, once=once)
    if done.flops is not None and worked:
        sums = "FLOPs and bytes" if done.optimal_s is None else "FLOPs, bytes and optimal_s"
        done.warnings.append(f"{sums} may leave out the custom calls {', '.join(worked)}")
    if looped and known:
        _multiply(done, graph, turns)
    return done


def _cost(compiled: Any, modules: Sequence[Any], *, once: bool) -> tuple[Mapping[str, Any], bool]:
    """XLA's cost analysis, and whether it is the compiler's own, which counts each loop `once`."""
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    if (cost and once) or len(modules) != 1:
        return cost, True
    try:
        return analysis(modules[0]), False
    except (ImportError, AttributeError, RuntimeError):  # another jaxlib, or no cpu backend to count with
        return cost, True


def _multiply(done: DeviceCost, graph: Graph | None, turns: Mapping[str, int | None]) -> None:
    """Adds what the turns of loops after the first do."""
    added = _further(graph, turns)
    if added:
        if done.flops is not None:
            done.flops += added.counts["flops"]
        if done.bytes_accessed is not None:
            done.bytes_accessed += added.counts["bytes_accessed"]
        if done.flops is not None and any(added.counts.values()):
            done.source = "optimised_module"
    once = added.once if added else {UNREAD}
    done.body_only = bool(once)
    done.warnings += [f"FLOPs and bytes count {what} once (body only)" for what in sorted(once)]


def _further(graph: Graph | None, turns: Mapping[str, int | None]) -> Further | None:
    """None where the module cannot be read, as another jaxlib's may not: that costs no program its run."""
    try:
        return further(graph, turns) if graph else None
    except (ImportError, AttributeError, LookupError, ValueError, RecursionError):
        return None


def _optimal(done: DeviceCost, optimal: float | None, calls: Sequence[str], *, once: bool) -> None:
    if optimal is None or (optimal < 0 and not calls):
        done.unavailable["optimal_s"] = NO_COUNT
    elif optimal < 0:
        done.unavailable["optimal_s"] = f"the time of a custom call is not known, among {', '.join(calls)}"
    elif once:
        done.unavailable["optimal_s"] = ONE_TURN
    else:
        done.optimal_s = optimal


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
