"""Owners of a plan's peak by XLA's buffer assignment, which the compilers for the host and CUDA provide.

The assignment says which values share an allocation, and XLA's heap simulator lists the values that are live
at each allocation's peak. The list lacks some values that a loop carries (jax 0.10.2): their bytes are in no
owner. Field numbers are those of XLA's hlo.proto, and of a GPU's executable (jaxlib 0.10.2).
"""

from dataclasses import dataclass

from harness.core.peak_owners import Owner, Owners
from harness.xla.owners.names import Names
from harness.xla.protobuf import BYTES, MessageField, message, number_of, possible_message
from harness.xla.riegeli import of_executable

ASSIGNMENT = 2  # of a GPU's executable
VALUES, ALLOCATIONS, PEAKS = 1, 3, 5
ID, DEFINED = 1, 3  # of a value
SHAPE_INDEX, INSTRUCTION = 3, 4  # of a location
INDEX, SIZE, THREAD_LOCAL, PARAMETER, LIVE_OUT, ASSIGNED, CONSTANT = 1, 2, 3, 5, 7, 9, 12  # of an allocation
VALUE, ASSIGNED_SIZE = 1, 3  # of a value in an allocation
PEAK_VALUES = 2

Place = tuple[int, tuple[int, ...]]  # (an instruction's id, index into its result's tuple)


@dataclass(frozen=True)
class Allocation:
    """A block of memory: the bytes of its values, and which of them are live at its peak."""

    size: int
    kind: str  # `argument`, `output` or `temp`
    values: dict[int, int]
    peak: tuple[int, ...]


def assigned_owners(assignment: bytes, ids: dict[int, str], names: Names, planned_bytes: int) -> Owners:
    """The owners of a plan of `planned_bytes`; `ids` are the names of instructions by id."""
    allocations, made = read_assignment(assignment)
    owners = [
        _owner(names, each.kind, ids[made[value][0]], made[value][1], each.values[value])
        for each in allocations
        for value in each.peak
    ]
    return Owners.of(owners, sum(each.size for each in allocations), planned_bytes)


def _owner(names: Names, kind: str, name: str, index: tuple[int, ...], size: int) -> Owner:
    shape = names.shape(name, index)
    if kind == "argument" and names.instruction(name).opcode == "parameter":
        return Owner(names.argument(name), kind, size, "", shape, "")
    operator, source = names.made_by(name, index)
    return Owner(name, kind, size, operator, shape, source)


def read_assignment(proto: bytes) -> tuple[list[Allocation], dict[int, Place]]:
    """(allocations without constants and thread-local memory, where each value is defined)."""
    fields = message(proto)
    parts = {number: [message(f.value) for f in fields if f.number == number] for number in range(1, 6)}
    made = {number_of(value, ID): _place(value) for value in parts[VALUES]}
    peaks = {number_of(peak, INDEX): _numbers(peak, PEAK_VALUES) for peak in parts[PEAKS]}
    allocations: list[Allocation] = []
    for allocation in parts[ALLOCATIONS]:
        if number_of(allocation, CONSTANT) or number_of(allocation, THREAD_LOCAL):
            continue
        kind = "argument" if number_of(allocation, PARAMETER) else None
        kind = kind or ("output" if number_of(allocation, LIVE_OUT) else "temp")
        inside = [message(field.value) for field in allocation if field.number == ASSIGNED]
        values = {number_of(value, VALUE): number_of(value, ASSIGNED_SIZE) for value in inside}
        peak = peaks.get(number_of(allocation, INDEX), [])
        if kind != "temp" and values and not peak:  # jaxlib 0.9.0 lists none: the largest value fills it
            peak = [max(values, key=values.__getitem__)]
        allocations.append(Allocation(number_of(allocation, SIZE), kind, values, tuple(peak)))
    return allocations, made


def gpu_assignment(executable: bytes) -> bytes:
    """The BufferAssignmentProto in a GPU's serialised executable. ValueError where there is none."""
    for record in of_executable(executable):
        for field in possible_message(record):
            if field.number == ASSIGNMENT and field.kind == BYTES:
                numbers = {inner.number for inner in possible_message(field.value)}
                if numbers >= {VALUES, ALLOCATIONS, PEAKS}:
                    return field.value
    raise ValueError("no buffer assignment in the executable")


def _numbers(fields: list[MessageField], number: int) -> list[int]:
    return [value for field in fields if field.number == number for value in field.numbers]


def _place(value: list[MessageField]) -> Place:
    (location,) = (message(field.value) for field in value if field.number == DEFINED)
    return number_of(location, INSTRUCTION), tuple(_numbers(location, SHAPE_INDEX))
