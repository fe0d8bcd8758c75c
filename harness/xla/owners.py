"""Buffer breakdown of a planned peak: XLA's buffer assignment on host and CUDA, libtpu's report on TPUs.

The assignment says which values share an allocation, and XLA's heap simulator lists the values that are live
at each allocation's peak. The list lacks some values that a loop carries (jax 0.10.2): their bytes are in no
owner. Field numbers are those of XLA's hlo.proto, and of a GPU's executable (jaxlib 0.10.2).

libtpu lists the temporaries that are live at their peak, with padded sizes, and the gaps between them.
Arguments and results have the sizes of their tiled layouts. The report is undocumented; its field numbers
are those of libtpu 0.0.52, found by comparison with libtpu's out-of-memory messages.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.core.peak_owners import Owner, Owners
from harness.xla.buffer_names import Names
from harness.xla.collectives import bits
from harness.xla.protobuf import (
    BYTES,
    MessageField,
    inside,
    message,
    number_of,
    numbers_of,
    of_executable,
    possible_message,
)

PROGRAM, BODY, REPORT, MEMORY = 1, 2, 12, 1  # the path to the report of a memory
SPACE, BLOCKS = 1, 3  # of a memory; HBM is space 0, a default that protobuf does not write
HBM = 0
KIND, BLOCK_SIZE, BUFFERS = 1, 2, 4  # of a block
TEMPORARIES = 3  # the kind of block that holds a program's temporaries
LABEL, SHAPE, PADDED = 1, 3, 4  # of a buffer that is live at the block's peak
SIZES = 3  # of a shape
POINTER, POINTERS = 4, 32  # bytes of a pointer in a tuple's table, and the table's alignment
ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,<=]*)\](?:\{([\d,]*)(?::((?:[A-Z]+\([^)]*\)|\([^)]*\))*))?\})?")
TILE = re.compile(r"T\(([\d,*]+)\)")
ASSIGNMENT = 2  # of a GPU's executable
VALUES, ALLOCATIONS, PEAKS = 1, 3, 5
ID, DEFINED = 1, 3  # of a value
SHAPE_INDEX, INSTRUCTION = 3, 4  # of a location
INDEX, SIZE, THREAD_LOCAL, PARAMETER, LIVE_OUT, ASSIGNED, CONSTANT = 1, 2, 3, 5, 7, 9, 12  # of an allocation
VALUE, ASSIGNED_SIZE = 1, 3  # of a value in an allocation
PEAK_VALUES = 2
Place = tuple[int, tuple[int, ...]]  # (an instruction's id, index into its result's tuple)


@dataclass(frozen=True)
class ReportedBuffer:
    """A buffer of libtpu's report: its instruction, its array's sizes, and its padded bytes."""

    name: str
    sizes: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class TemporariesReport:
    """A TPU's temporaries in HBM at their peak."""

    size: int
    buffers: tuple[ReportedBuffer, ...]


def reported_owners(report: TemporariesReport, names: Names, planned_bytes: int) -> Owners:
    """The owners of a plan of `planned_bytes`."""
    tensors = [*_arguments(names), *_results(names)]
    temporaries = [_temporary(buffer, names) for buffer in report.buffers]
    peak = sum(owner.bytes for owner in tensors) + report.size
    return Owners.of([*tensors, *temporaries], peak, planned_bytes)


def tpu_temporaries(executable: bytes) -> TemporariesReport:
    """The report of a TPU's temporaries in HBM. ValueError if it is missing or has an unknown format."""
    for record in of_executable(executable):
        programs = inside([record], PROGRAM)
        for memory in inside(inside(inside(programs, BODY), REPORT), MEMORY):
            fields = possible_message(memory)
            if fields and number_of(fields, SPACE) == HBM:
                blocks = [message(block) for block in inside([memory], BLOCKS)]
                temporaries = [block for block in blocks if number_of(block, KIND) == TEMPORARIES]
                if not temporaries:
                    return TemporariesReport(0, ())
                (block,) = temporaries
                buffers = tuple(_buffer(message(f.value)) for f in block if f.number == BUFFERS)
                return TemporariesReport(number_of(block, BLOCK_SIZE), buffers)
    raise ValueError("the executable has no memory report")


def tiled_arrays(shape: str) -> list[tuple[str, int]]:
    """(shape, bytes) of the arrays of one of libtpu's shapes, with their sizes rounded up to tiles.

    >>> tiled_arrays("f32[512,3]{1,0:T(8,128)S(1)}")
    [('f32[512,3]', 262144)]
    """
    return [_array(*match) for match in ARRAY.findall(shape)]


def _array(kind: str, sizes: str, order: str, layout: str) -> tuple[str, int]:
    lengths = [int(size.removeprefix("<=")) for size in sizes.split(",") if size]
    minor_first = [int(place) for place in order.split(",") if place]
    tile = TILE.search(layout)
    padded = [*lengths]
    if tile and "*" not in tile[1]:
        if not lengths:  # one element takes a whole tile
            padded, minor_first = [1], [0]
        for place, size in zip(minor_first, reversed(tile[1].split(",")), strict=False):
            padded[place] = -(-padded[place] // int(size)) * int(size)
    return f"{kind}[{sizes}]", -(-math.prod(padded) * bits(kind) // 8)


def _buffer(fields: list[MessageField]) -> ReportedBuffer:
    (label,) = (field.value.decode(errors="replace") for field in fields if field.number == LABEL)
    shapes = [message(field.value) for field in fields if field.number == SHAPE]
    sizes = tuple(n for shape in shapes for n in numbers_of(shape, SIZES))
    return ReportedBuffer(label.partition(" = ")[0], sizes, number_of(fields, PADDED))


def _temporary(buffer: ReportedBuffer, names: Names) -> Owner:
    if buffer.name not in names.computation:
        return Owner(buffer.name, "temp", buffer.bytes, "", "", "")
    whole = names.instruction(buffer.name).shape
    sizes = f"[{','.join(map(str, buffer.sizes))}]"
    shapes = [shape for shape, _ in tiled_arrays(whole)]
    same = [place for place, shape in enumerate(shapes) if buffer.sizes and shape.endswith(sizes)]
    index = (same[0],) if same and whole.startswith("(") else ()
    operator, source = names.made_by(buffer.name, index)
    shape = shapes[same[0]] if same else names.shape(buffer.name, ())
    return Owner(buffer.name, "temp", buffer.bytes, operator, shape, source)


def _arguments(names: Names) -> Iterator[Owner]:
    for each in names.graph.computations[names.graph.entry].instructions.values():
        if each.opcode == "parameter":
            size = sum(size for _, size in tiled_arrays(each.shape))
            yield Owner(names.argument(each.name), "argument", size, "", names.shape(each.name, ()), "")


def _results(names: Names) -> Iterator[Owner]:
    entry = names.graph.computations[names.graph.entry]
    root = entry.instructions[entry.root]
    tupled = root.shape.startswith("(")
    if tupled and root.opcode != "tuple":  # one instruction with several results
        parts = [(root.name, (place,)) for place in range(len(tiled_arrays(root.shape)))]
    else:
        parts = [(name, ()) for name in (root.operands if tupled else [root.name])]
    for name, index in parts:
        operator, source = names.made_by(name, index)
        sizes = [size for _, size in tiled_arrays(names.instruction(name).shape)]
        size = sizes[index[0]] if index else sum(sizes)
        yield Owner(name, "output", size, operator, names.shape(name, index), source)
    if tupled:
        table = -(-POINTER * len(parts) // POINTERS) * POINTERS
        yield Owner(root.name, "output", table, "tuple", "", "")


@dataclass(frozen=True)
class Allocation:
    """A block of memory: the bytes of its values, and which of them are live at its peak."""

    size: int
    kind: str  # `argument`, `output` or `temp`
    values: dict[int, int]
    peak: tuple[int, ...]


def assigned_owners(assignment: bytes, ids: dict[int, str], names: Names, planned_bytes: int) -> Owners:
    """The breakdown of a plan of `planned_bytes`; `ids` are the names of instructions by id."""
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
    peaks = {number_of(peak, INDEX): numbers_of(peak, PEAK_VALUES) for peak in parts[PEAKS]}
    allocations: list[Allocation] = []
    for allocation in parts[ALLOCATIONS]:
        if number_of(allocation, CONSTANT) or number_of(allocation, THREAD_LOCAL):
            continue
        kind = "argument" if number_of(allocation, PARAMETER) else None
        kind = kind or ("output" if number_of(allocation, LIVE_OUT) else "temp")
        inside = [message(field.value) for field in allocation if field.number == ASSIGNED]
        values = {number_of(value, VALUE): number_of(value, ASSIGNED_SIZE) for value in inside}
        peak = peaks.get(number_of(allocation, INDEX), [])
        allocations.append(Allocation(number_of(allocation, SIZE), kind, values, tuple(peak)))
    return allocations, made


def gpu_assignment(executable: bytes) -> bytes:
    """The BufferAssignmentProto in a GPU's serialised executable. ValueError if there is none."""
    for record in of_executable(executable):
        for field in possible_message(record):
            if field.number == ASSIGNMENT and field.kind == BYTES:
                numbers = {inner.number for inner in possible_message(field.value)}
                if numbers >= {VALUES, ALLOCATIONS, PEAKS}:
                    return field.value
    raise ValueError("the executable has no buffer assignment")


def _place(value: list[MessageField]) -> Place:
    (location,) = (message(field.value) for field in value if field.number == DEFINED)
    return number_of(location, INSTRUCTION), tuple(numbers_of(location, SHAPE_INDEX))
