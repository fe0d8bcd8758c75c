"""XLA's buffer assignment: which values share which allocation, where in it, and which are its peak.

Field numbers are those of XLA's hlo.proto (jaxlib 0.10.2); `PEAKS` names, by allocation, the values that
are alive where most of it is in use, as XLA's heap simulator has found it.
"""

from dataclasses import dataclass

from harness.xla.protobuf import MessageField, message

VALUES, ALLOCATIONS, PEAKS = 1, 3, 5
ID, DEFINED = 1, 3  # of a value
SHAPE_INDEX, INSTRUCTION = 3, 4  # of a location
INDEX, SIZE, THREAD_LOCAL, PARAMETER, LIVE_OUT, ASSIGNED, CONSTANT = 1, 2, 3, 5, 7, 9, 12  # of an allocation
VALUE, OFFSET, ASSIGNED_SIZE = 1, 2, 3  # of a value in an allocation
PEAK_VALUES = 2


@dataclass(frozen=True)
class Allocation:
    """A block of memory; `values` are (value, offset, bytes), `peak` those that are alive at its peak."""

    size: int
    kind: str  # `argument`, `output` or `temp`
    values: tuple[tuple[int, int, int], ...]
    peak: tuple[int, ...]


@dataclass(frozen=True)
class BufferAssignment:
    """The allocations of a plan. `made` says where each value is made: (instruction's id, tuple's part)."""

    allocations: tuple[Allocation, ...]
    made: dict[int, tuple[int, tuple[int, ...]]]


def buffer_assignment(proto: bytes) -> BufferAssignment:
    """The assignment of a BufferAssignmentProto. Constants and one thread's own memory are in no plan."""
    fields = message(proto)
    parts = {number: [message(f.value) for f in fields if f.number == number] for number in range(1, 6)}
    made = {_number(value, ID): _position(value) for value in parts[VALUES]}
    peaks = {_number(peak, INDEX): _numbers(peak, PEAK_VALUES) for peak in parts[PEAKS]}
    allocations: list[Allocation] = []
    for allocation in parts[ALLOCATIONS]:
        if _number(allocation, CONSTANT) or _number(allocation, THREAD_LOCAL):
            continue
        kind = "argument" if _number(allocation, PARAMETER) else None
        kind = kind or ("output" if _number(allocation, LIVE_OUT) else "temp")
        inside = [message(field.value) for field in allocation if field.number == ASSIGNED]
        values = tuple((_number(v, VALUE), _number(v, OFFSET), _number(v, ASSIGNED_SIZE)) for v in inside)
        peak = tuple(peaks.get(_number(allocation, INDEX), ()))
        allocations.append(Allocation(_number(allocation, SIZE), kind, values, peak))
    return BufferAssignment(tuple(allocations), made)


def _numbers(fields: list[MessageField], number: int) -> list[int]:
    return [value for field in fields if field.number == number for value in field.numbers]


def _number(fields: list[MessageField], number: int) -> int:
    """A whole number; 0, which is not written, where it is missing."""
    return next(iter(_numbers(fields, number)), 0)


def _position(value: list[MessageField]) -> tuple[int, tuple[int, ...]]:
    (location,) = (message(field.value) for field in value if field.number == DEFINED)
    return _number(location, INSTRUCTION), tuple(_numbers(location, SHAPE_INDEX))
