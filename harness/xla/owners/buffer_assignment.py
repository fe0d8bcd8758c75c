"""XLA's buffer assignment: which values share an allocation, at which offsets, and which are its peak.

Field numbers are those of XLA's hlo.proto (jaxlib 0.10.2). `PEAKS` lists, by allocation, the values that are
live at its peak according to XLA's heap simulator.
"""

from dataclasses import dataclass

from harness.xla.protobuf import MessageField, message, number_of

VALUES, ALLOCATIONS, PEAKS = 1, 3, 5
ID, DEFINED = 1, 3  # of a value
SHAPE_INDEX, INSTRUCTION = 3, 4  # of a location
INDEX, SIZE, THREAD_LOCAL, PARAMETER, LIVE_OUT, ASSIGNED, CONSTANT = 1, 2, 3, 5, 7, 9, 12  # of an allocation
VALUE, OFFSET, ASSIGNED_SIZE = 1, 2, 3  # of a value in an allocation
PEAK_VALUES = 2


@dataclass(frozen=True)
class Allocation:
    """A block of memory; `values` are (value, offset, bytes), `peak` the values live at its peak."""

    size: int
    kind: str  # `argument`, `output` or `temp`
    values: tuple[tuple[int, int, int], ...]
    peak: tuple[int, ...]


@dataclass(frozen=True)
class BufferAssignment:
    """The allocations of a plan. `made` maps values to (defining instruction's id, tuple index)."""

    allocations: tuple[Allocation, ...]
    made: dict[int, tuple[int, tuple[int, ...]]]


def buffer_assignment(proto: bytes) -> BufferAssignment:
    """The assignment in a BufferAssignmentProto, without constants and thread-local memory."""
    fields = message(proto)
    parts = {number: [message(f.value) for f in fields if f.number == number] for number in range(1, 6)}
    made = {number_of(value, ID): _position(value) for value in parts[VALUES]}
    peaks = {number_of(peak, INDEX): _numbers(peak, PEAK_VALUES) for peak in parts[PEAKS]}
    allocations: list[Allocation] = []
    for allocation in parts[ALLOCATIONS]:
        if number_of(allocation, CONSTANT) or number_of(allocation, THREAD_LOCAL):
            continue
        kind = "argument" if number_of(allocation, PARAMETER) else None
        kind = kind or ("output" if number_of(allocation, LIVE_OUT) else "temp")
        inside = [message(field.value) for field in allocation if field.number == ASSIGNED]
        values = tuple(
            (number_of(v, VALUE), number_of(v, OFFSET), number_of(v, ASSIGNED_SIZE)) for v in inside
        )
        peak = tuple(peaks.get(number_of(allocation, INDEX), ()))
        allocations.append(Allocation(number_of(allocation, SIZE), kind, values, peak))
    return BufferAssignment(tuple(allocations), made)


def _numbers(fields: list[MessageField], number: int) -> list[int]:
    return [value for field in fields if field.number == number for value in field.numbers]


def _position(value: list[MessageField]) -> tuple[int, tuple[int, ...]]:
    (location,) = (message(field.value) for field in value if field.number == DEFINED)
    return number_of(location, INSTRUCTION), tuple(_numbers(location, SHAPE_INDEX))
