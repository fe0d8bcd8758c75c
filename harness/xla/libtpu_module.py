"""The optimised module of a serialised TPU executable, rewritten so that an older jaxlib can read it.

A newer libtpu writes an `async-start` without operands and binds them later, as further operands of an
`async-update`. jaxlib 0.10.2 accepts only one operand per update and rejects the module. Therefore the start
is moved to the update that binds the last operand. The work, its operands and the order stay the same; only
the time at which the start was issued is lost.

`serialize()` returns an IFRT header and a file of records. One record contains the module with its
configuration (seen in libtpu 0.0.52). Field numbers are those of XLA's hlo.proto.
"""

from typing import Any

from harness.xla.hlo import jaxlib_hlo
from harness.xla.protobuf import (
    BYTES,
    MessageField,
    encode,
    inside,
    message,
    numbers_of,
    packed_field,
    possible_message,
    records,
)

CONFIGURED, MODULE = 2, 1  # the path in a record: a module with its configuration, and the module there
COMPUTATIONS, SCHEDULE = 3, 7  # in a module
NAMED = {1, 2, COMPUTATIONS}  # fields that every module has: its name, its entry's name, its computations
INSTRUCTIONS = 2  # in a computation
OPCODE, SHAPE, ID, OPERANDS, PREDECESSORS = 2, 3, 35, 36, 37  # in an instruction
SEQUENCES, SEQUENCE, SEQUENCE_IDS = 1, 2, 1  # a schedule's map by computation; its value; that one's ids


def module(executable: bytes) -> Any:
    """The HLO module, as a jaxlib object, of an executable that `serialize()` wrote.

    ValueError: the module is missing or has an unknown format. RuntimeError: jaxlib rejects the rewritten
    module, too.
    """
    parse = jaxlib_hlo().HloModule.from_serialized_hlo_module_proto
    return parse(bind_late_operands(module_proto(executable)))


def module_proto(executable: bytes) -> bytes:
    """The one HloModuleProto of a serialised executable."""
    modules = inside(inside(records(executable), CONFIGURED), MODULE)
    # Messages of other types also have fields of these numbers, so all required fields are checked.
    modules = [part for part in modules if {field.number for field in possible_message(part)} >= NAMED]
    if len(modules) != 1:
        raise ValueError(f"the executable has {len(modules)} modules, not 1")
    return modules[0]


def bind_late_operands(proto: bytes) -> bytes:
    """The HloModuleProto with every late operand of an async-update moved to its async-start."""
    removed: set[int] = set()
    fields = message(proto)
    for index, field in enumerate(fields):
        if field.number == COMPUTATIONS and b"async-update" in field.value:
            fields[index] = field._replace(value=_bind_operands(field.value, removed))
    for index, field in enumerate(fields):
        if field.number == SCHEDULE and removed:
            fields[index] = field._replace(value=_without(field.value, removed))
    return encode(fields)


def _bind_operands(computation: bytes, removed: set[int]) -> bytes:
    """The computation with all operands at its async-starts; ids of dropped instructions go to `removed`."""
    others: list[MessageField] = []
    instructions: dict[int, list[MessageField]] = {}
    for field in message(computation):
        if field.number != INSTRUCTIONS:
            others.append(field)
            continue
        instruction = message(field.value)
        (number,) = numbers_of(instruction, ID)
        if _opcode(instruction) == b"async-update" and len(operands := numbers_of(instruction, OPERANDS)) > 1:
            # Stored under the update's id, to which its users refer, so that a further update in the chain
            # finds this start.
            instruction = _merged_start(instructions.pop(operands[0], []), instruction, operands[1:])
            removed.add(operands[0])
        instructions[number] = instruction
    rewritten = [MessageField(INSTRUCTIONS, BYTES, encode(each)) for each in instructions.values()]
    return encode([*others, *rewritten])


def _merged_start(
    start: list[MessageField], update: list[MessageField], late: list[int]
) -> list[MessageField]:
    """An async-start with the operands of both, and with the update's id, shape and predecessors."""
    if _opcode(start) != b"async-start":
        raise ValueError("late operands without an async-start in the same computation")
    place = (ID, SHAPE, PREDECESSORS)
    unchanged = [field for field in start if field.number not in (*place, OPERANDS)]
    moved = [field for field in update if field.number in place]
    return [*unchanged, *moved, packed_field(OPERANDS, [*numbers_of(start, OPERANDS), *late])]


def _without(schedule: bytes, removed: set[int]) -> bytes:
    """The schedule without these instructions."""
    sequences = message(schedule)
    for index, entry in enumerate(sequences):
        if entry.number == SEQUENCES:
            parts = message(entry.value)
            for part_index, part in enumerate(parts):
                if part.number == SEQUENCE:
                    remaining = [
                        number
                        for number in numbers_of(message(part.value), SEQUENCE_IDS)
                        if number not in removed
                    ]
                    parts[part_index] = part._replace(value=encode([packed_field(SEQUENCE_IDS, remaining)]))
            sequences[index] = entry._replace(value=encode(parts))
    return encode(sequences)


def _opcode(instruction: list[MessageField]) -> bytes:
    return b"".join(field.value for field in instruction if field.number == OPCODE)
