"""Owners of a plan by XLA's buffer assignment, which the host's and CUDA's compilers give.

Arguments and results have memory from the first instruction to the last; temporaries share allocations, so
that one's place is another's later on. Which of them are alive at an allocation's peak XLA says itself.
"""

from collections import defaultdict

from harness.core.peak_owners import Owner, Owners, largest_first, live_curve, thinned
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
    lives = {value: timeline.life(place, definitions) for value, place in made.items()}
    owners: list[Owner] = []
    held = used = 0
    held_over: list[tuple[int, int, int]] = []
    for allocation in assignment.allocations:
        held += allocation.size
        sizes = {value: size for value, _, size in allocation.values}
        for value in allocation.peak:
            used += sizes[value]
            life = lives[value] if allocation.kind == "temp" else (0, steps - 1)
            owners.append(_owner(names, allocation.kind, made[value], sizes[value], life))
        if allocation.kind == "temp":
            held_over += _lives_in(allocation, lives)
        else:
            held_over.append((0, steps - 1, allocation.size))
    curve = live_curve(steps, held_over)
    named, others = largest_first(owners)
    return Owners(
        peak_bytes=held,
        difference_bytes=held - planned_bytes,
        gap_bytes=held - used,
        at=max(curve, key=lambda corner: corner[1])[0],
        instructions=steps,
        owners=named,
        others=others,
        curve=thinned(curve),
    )


def _owner(names: Names, kind: str, place: Position, size: int, life: tuple[int, int]) -> Owner:
    name, _ = place
    instruction = names.instruction(name)
    if instruction.opcode == "parameter" and kind == "argument":
        operator, source, name = "", "", names.argument(name)
    else:
        operator, source = names.made_by(*place)
    return Owner(name, kind, size, operator, names.shape(*place), source, *life)


def _lives_in(allocation: Allocation, lives: dict[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(first, last, bytes) of what lies in an allocation; values that follow each other in place are one."""
    by_offset: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for value, offset, size in allocation.values:
        by_offset[offset].append((*lives[value], size))
    found: list[tuple[int, int, int]] = []
    for values in by_offset.values():
        values.sort()
        merged = [values[0]]
        for first, last, size in values[1:]:
            start, end, most = merged[-1]
            if first <= end:
                merged[-1] = (start, max(end, last), max(most, size))
            else:
                merged.append((first, last, size))
        found += merged
    return found
