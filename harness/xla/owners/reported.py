"""Owners of a TPU plan's peak, by the HBM report in its executable.

libtpu lists the temporaries that are live at their peak, with padded sizes, and the gaps between them.
Arguments and results have the sizes of their tiled layouts. Live ranges, and the curve of live bytes, are
replayed from the schedule. The replay does not know all buffers that libtpu lets share memory, so the curve
may exceed the plan.
"""

from collections.abc import Iterator

from harness.core.peak_owners import Owner, Owners, largest_first, live_curve, thin_curve
from harness.xla.hlo import Instruction
from harness.xla.owners.executable import ReportedBuffer, TemporariesReport
from harness.xla.owners.names import Names
from harness.xla.owners.tiled import TiledArray, tiled_arrays
from harness.xla.owners.timeline import IN_PLACE, SAME, Position, Timeline, part_of

HBM = 0
POINTER, POINTERS = 4, 32  # bytes of a pointer in a tuple's table, and the table's alignment
# They make no array of their own: their result is another's memory, or in the program's code.
HANDED_ON = ("tuple", "get-tuple-element", "constant", "parameter", "copy-done", "after-all", *SAME)
CALLERS = ("while", "conditional", "call", "async-done", "custom-call-done")
# They move elements, so they cannot write their result over their operand.
MOVES = ("copy", "reshape", "transpose", "slice", "reverse", "broadcast")


def reported_owners(report: TemporariesReport, names: Names, planned_bytes: int) -> Owners:
    """The owners of a plan of `planned_bytes`."""
    timeline = Timeline(names.graph)
    last = len(timeline.order) - 1
    made = {place: size for each in timeline.order for place, size in _arrays_of(each)}
    for place in _rewritten(timeline):
        made.pop(place, None)
    positions = {place: timeline.positions_of(place, made.keys()) for place in made}
    live_ranges = {place: timeline.live_range_of(place, positions[place]) for place in made}
    _end_overwritten(timeline, made, positions, live_ranges)
    held = [*_arguments(names, last), *_results(names, last)]
    temporaries = [_temporary(buffer, names, timeline, live_ranges) for buffer in report.buffers]
    held_bytes = sum(owner.bytes for owner in held)
    root = timeline.order[-1].name
    returned = {place for place in made if any(name == root for name, _ in positions[place])}
    alive = [(*live_ranges[place], size) for place, size in made.items() if place not in returned]
    curve = live_curve(last + 1, alive, held_bytes)
    lasting = live_curve(last + 1, [(each.first, each.last, each.bytes) for each in temporaries])
    named, others = largest_first([*held, *temporaries])
    return Owners(
        peak_bytes=held_bytes + report.size,
        difference_bytes=held_bytes + report.size - planned_bytes,
        gap_bytes=report.size - sum(owner.bytes for owner in temporaries),
        at=max(lasting if temporaries else curve, key=lambda corner: corner[1])[0],
        instructions=last + 1,
        owners=named,
        others=others,
        curve=thin_curve(curve),
    )


def _rewritten(timeline: Timeline) -> Iterator[Position]:
    """The positions that a loop's iteration makes for the next one, in place in the loop's state."""
    for loop in timeline.order:
        if loop.opcode == "while":
            body = timeline.graph.computations[loop.called["body"][0]]
            root = body.instructions[body.root]
            for name in root.operands if root.opcode == "tuple" else [root.name]:
                each = body.instructions[name]
                while each.opcode in SAME:
                    each = body.instructions[each.operands[0]]
                if each.opcode == "get-tuple-element":
                    yield each.operands[0], (part_of(each),)
                else:
                    yield each.name, ()


def _end_overwritten(
    timeline: Timeline,
    made: dict[Position, int],
    positions: dict[Position, set[Position]],
    live_ranges: dict[Position, tuple[int, int]],
) -> None:
    """End an operand's live range before an instruction that writes its result over it.

    Sorts and elementwise computations do so, with an operand of the same size that nothing reads later.
    """
    holder = {position: place for place, reached in positions.items() for position in reached}
    for place, size in made.items():
        instruction, step = timeline.order[timeline.step[place[0]]], timeline.step[place[0]]
        looped = instruction.opcode != "fusion" or "kind=kLoop" in instruction.attributes
        if instruction.opcode in MOVES or not looped:
            continue
        for operand in instruction.operands:
            before = holder.get((operand, ()))
            if before and live_ranges[before][0] < step == live_ranges[before][1] and made[before] == size:
                live_ranges[before] = (live_ranges[before][0], step - 1)
                break


def _arrays_of(instruction: Instruction) -> Iterator[tuple[Position, int]]:
    """The arrays in HBM that an instruction makes, with their bytes."""
    if instruction.opcode in (*HANDED_ON, *CALLERS, *IN_PLACE):
        return
    for (name, index), array in _parts(instruction):
        source = instruction.opcode == "copy-start" and index != (0,)
        operand = instruction.opcode == "custom-call-start" and index[0] == 0
        if array.space == HBM and not source and not operand:
            yield (name, index), array.bytes


def _parts(instruction: Instruction) -> Iterator[tuple[Position, TiledArray]]:
    """The arrays of an instruction's result; an asynchronous kernel's are operands, result, contexts."""
    operands = len(instruction.operands)
    for place, array in enumerate(tiled_arrays(instruction.shape)):
        index = (place,) if instruction.shape.startswith("(") else ()
        if instruction.opcode == "custom-call-start":
            after = place - operands
            index = (0, place) if after < 0 else (2, after - 1) if after else (1,)
        yield (instruction.name, index), array


def _temporary(
    buffer: ReportedBuffer, names: Names, timeline: Timeline, live_ranges: dict[Position, tuple[int, int]]
) -> Owner:
    if buffer.name not in names.owner:
        return Owner(buffer.name, "temp", buffer.bytes, "", "", "", 0, 0)
    instruction = names.instruction(buffer.name)
    sizes = f"[{','.join(map(str, buffer.sizes))}]"
    parts = {
        place: array for place, array in _parts(instruction) if place in live_ranges or len(place[1]) < 2
    }
    same = [place for place, array in parts.items() if buffer.sizes and array.shape.endswith(sizes)]
    place = same[0] if same else (buffer.name, ())
    operator, source = names.made_by(*place)
    first, last = live_ranges.get(place, (timeline.step.get(buffer.name, 0),) * 2)
    shape = parts[place].shape if same else names.shape(*place)
    return Owner(buffer.name, "temp", buffer.bytes, operator, shape, source, first, last)


def _arguments(names: Names, last: int) -> Iterator[Owner]:
    for each in names.graph.computations[names.graph.entry].instructions.values():
        if each.opcode == "parameter":
            size, shape = _size(each), names.shape(each.name, ())
            yield Owner(names.argument(each.name), "argument", size, "", shape, "", 0, last)


def _results(names: Names, last: int) -> Iterator[Owner]:
    entry = names.graph.computations[names.graph.entry]
    root = entry.instructions[entry.root]
    tupled = root.shape.startswith("(")
    if tupled and root.opcode != "tuple":  # one instruction with several results
        parts = [(root.name, (place,)) for place in range(len(tiled_arrays(root.shape)))]
    else:
        parts = [(name, ()) for name in (root.operands if tupled else [root.name])]
    for name, index in parts:
        operator, source = names.made_by(name, index)
        arrays = tiled_arrays(names.instruction(name).shape)
        size = arrays[index[0]].bytes if index else sum(array.bytes for array in arrays)
        yield Owner(name, "output", size, operator, names.shape(name, index), source, 0, last)
    if tupled:
        table = -(-POINTER * len(parts) // POINTERS) * POINTERS
        yield Owner(root.name, "output", table, "tuple", "", "", 0, last)


def _size(instruction: Instruction) -> int:
    return sum(array.bytes for array in tiled_arrays(instruction.shape))
