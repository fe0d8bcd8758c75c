"""Owners of a plan's peak by XLA's buffer assignment, which the compilers for the host and CUDA provide.

Arguments and results are live from the first instruction to the last; temporaries share allocations, one
after the other at the same offset. XLA itself lists the values that are live at an allocation's peak.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from harness.core.peak_owners import Owner, Owners, largest_first, live_curve, thin_curve
from harness.xla.owners.buffer_assignment import Allocation, BufferAssignment
from harness.xla.owners.names import Names
from harness.xla.owners.timeline import Position, Timeline


def assigned_owners(
    assignment: BufferAssignment, ids: dict[int, str], names: Names, planned_bytes: int
) -> Owners:
    """The owners of a plan of `planned_bytes`; `ids` are the names of instructions by id."""
    timeline = Timeline(names.graph)
    steps = len(timeline.order)
    made = {value: (ids[place[0]], place[1]) for value, place in assignment.made.items()}
    definitions = set(made.values())
    live_ranges = {value: timeline.live_range(place, definitions) for value, place in made.items()}
    slots = [
        slot for each in assignment.allocations if each.kind == "temp" for slot in _slots(each, live_ranges)
    ]
    held = sum(each.size for each in assignment.allocations)
    base = sum(each.size for each in assignment.allocations if each.kind != "temp")
    curve = live_curve(steps, [(slot.first, slot.last, slot.bytes) for slot in slots], base)
    at = max(curve, key=lambda corner: corner[1])[0]
    owners: list[Owner] = []
    for allocation in assignment.allocations:
        sizes = {value: size for value, _, size in allocation.values}
        for value in _at_peak(allocation, sizes, live_ranges, at):
            life = live_ranges[value] if allocation.kind == "temp" else (0, steps - 1)
            owners.append(_owner(names, allocation.kind, made[value], sizes[value], life))
    named, others = largest_first(owners)
    return Owners(
        peak_bytes=held,
        difference_bytes=held - planned_bytes,
        gap_bytes=held - sum(owner.bytes for owner in owners),
        at=at,
        instructions=steps,
        owners=named,
        others=others,
        curve=thin_curve(curve),
    )


def _owner(names: Names, kind: str, place: Position, size: int, life: tuple[int, int]) -> Owner:
    name, _ = place
    instruction = names.instruction(name)
    if instruction.opcode == "parameter" and kind == "argument":
        operator, source, name = "", "", names.argument(name)
    else:
        operator, source = names.made_by(*place)
    return Owner(name, kind, size, operator, names.shape(*place), source, *life)


class _Slot(NamedTuple):
    """An offset of an allocation while it is occupied; values whose live ranges touch are one slot."""

    first: int
    last: int
    bytes: int


def _slots(allocation: Allocation, live_ranges: dict[int, tuple[int, int]]) -> list[_Slot]:
    by_offset: dict[int, list[_Slot]] = defaultdict(list)
    for value, offset, size in sorted(allocation.values, key=lambda each: live_ranges[each[0]]):
        first, last = live_ranges[value]
        before = by_offset[offset]
        if before and first <= before[-1].last:
            start, end, most = before.pop()
            before.append(_Slot(start, max(end, last), max(most, size)))
        else:
            before.append(_Slot(first, last, size))
    return [slot for slots in by_offset.values() for slot in slots]


def _at_peak(
    allocation: Allocation, sizes: dict[int, int], live_ranges: dict[int, tuple[int, int]], at: int
) -> Collection[int]:
    """The values that are live at an allocation's peak.

    XLA's own list misses some that a loop carries (jax 0.10.2). So the values that are live by the schedule
    are used if they are larger in sum, and still fit.
    """
    if allocation.kind != "temp":  # jaxlib 0.9.0 lists no peaks here: the largest value fills the block
        return allocation.peak or [max(sizes, key=sizes.__getitem__)] if sizes else ()
    alive: dict[int, int] = {}  # by offset, the latest value
    for value, offset, _ in allocation.values:
        first, last = live_ranges[value]
        if first <= at <= last and first >= live_ranges.get(alive.get(offset, -1), (0, 0))[0]:
            alive[offset] = value
    replayed = sum(sizes[value] for value in alive.values())
    listed = sum(sizes[value] for value in allocation.peak)
    return list(alive.values()) if listed < replayed <= allocation.size else allocation.peak
