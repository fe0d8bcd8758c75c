"""Owners of a TPU plan's peak, by the HBM report in its executable.

libtpu lists the temporaries that are live at their peak, with padded sizes, and the gaps between them.
Arguments and results have the sizes of their tiled layouts. The report is undocumented; its field numbers
are those of libtpu 0.0.52, found by comparison with libtpu's out-of-memory messages.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.core.peak_owners import Owner, Owners
from harness.xla.collectives import bits
from harness.xla.owners.names import Names
from harness.xla.protobuf import MessageField, inside, message, number_of, possible_message
from harness.xla.riegeli import of_executable

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
    held = [*_arguments(names), *_results(names)]
    temporaries = [_temporary(buffer, names) for buffer in report.buffers]
    peak = sum(owner.bytes for owner in held) + report.size
    return Owners.of([*held, *temporaries], peak, planned_bytes)


def tpu_temporaries(executable: bytes) -> TemporariesReport:
    """The report of a TPU's temporaries in HBM. ValueError where it is missing or has an unknown form."""
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
    raise ValueError("no report of its memory in the executable")


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
    sizes = tuple(n for shape in shapes for each in shape if each.number == SIZES for n in each.numbers)
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
