"""Memory plans in serialised executables: a GPU's buffer assignment, a TPU's memory report.

Field numbers are those of jaxlib 0.10.2 and libtpu 0.0.52. The report's are undocumented; they were found by
comparison with libtpu's out-of-memory messages.
"""

from dataclasses import dataclass

from harness.xla.owners.buffer_assignment import ALLOCATIONS, PEAKS, VALUES
from harness.xla.protobuf import BYTES, MessageField, inside, message, number_of, possible_message
from harness.xla.riegeli import of_executable

ASSIGNMENT = 2  # of a GPU's executable
PROGRAM, BODY, REPORT, MEMORY = 1, 2, 12, 1  # the path in a TPU's executable to the report of a memory
SPACE, BLOCKS = 1, 3  # of a memory; HBM is space 0, a default that protobuf does not write
HBM = 0
KIND, BLOCK_SIZE, UNUSED, BUFFERS = 1, 2, 3, 4  # of a block
TEMPORARIES = 3  # the kind of block that holds a program's temporaries
LABEL, SHAPE, PADDED = 1, 3, 4  # of a buffer that is live at the block's peak
SIZES = 3  # of a shape


def gpu_assignment(executable: bytes) -> bytes:
    """The BufferAssignmentProto in a GPU's serialised executable. ValueError where there is none."""
    for record in of_executable(executable):
        for field in possible_message(record):
            if field.number == ASSIGNMENT and field.kind == BYTES:
                numbers = {inner.number for inner in possible_message(field.value)}
                if numbers >= {VALUES, ALLOCATIONS, PEAKS}:
                    return field.value
    raise ValueError("no buffer assignment in the executable")


@dataclass(frozen=True)
class ReportedBuffer:
    """A buffer of libtpu's report: its instruction, its array's sizes, and its padded bytes."""

    name: str
    sizes: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class TemporariesReport:
    """A TPU's temporaries in HBM at their peak; of `size`, `unused` bytes are gaps between buffers."""

    size: int
    unused: int
    buffers: tuple[ReportedBuffer, ...]


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
                    return TemporariesReport(0, 0, ())
                (block,) = temporaries
                buffers = tuple(_buffer(message(f.value)) for f in block if f.number == BUFFERS)
                return TemporariesReport(number_of(block, BLOCK_SIZE), number_of(block, UNUSED), buffers)
    raise ValueError("no report of its memory in the executable")


def _buffer(fields: list[MessageField]) -> ReportedBuffer:
    (label,) = (field.value.decode(errors="replace") for field in fields if field.number == LABEL)
    shapes = [message(field.value) for field in fields if field.number == SHAPE]
    sizes = tuple(n for shape in shapes for each in shape if each.number == SIZES for n in each.numbers)
    return ReportedBuffer(label.partition(" = ")[0], sizes, number_of(fields, PADDED))
