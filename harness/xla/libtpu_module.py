"""The optimised module out of a serialised TPU executable, mended so that an older jaxlib can read it.

A newer libtpu writes an `async-start` without operands and hands them over later, as further operands
of an `async-update`; jaxlib 0.10.2 knows updates of one operand only and refuses the module. Such a
start is put in the place of the update that brings the last operand: the work, the values it takes and
the order stay what they are, only how early it was announced is lost.

`serialize()` gives a header of IFRT's and a file of records, one of which holds the module with its
configuration (seen in libtpu 0.0.52). Field numbers are those of XLA's hlo.proto.
"""

from __future__ import annotations

import importlib
from typing import Any

from harness.xla.protobuf import BYTES, MessageField, encoded, message, packed, records

CONFIGURED, MODULE = 2, 1  # the path in a record: a module with its configuration, and the module there
COMPUTATIONS, SCHEDULE = 3, 7  # in a module
NAMED = {1, 2, COMPUTATIONS}  # a module's name, its entry's
INSTRUCTIONS = 2  # in a computation
OPCODE, SHAPE, ID, OPERANDS, PREDECESSORS = 2, 3, 35, 36, 37  # in an instruction
SEQUENCES, SEQUENCE, SEQUENCE_IDS = 1, 2, 1  # in a schedule: by computation; in one of them; in that


def module(executable: bytes) -> Any:
    """The HLO module, as jaxlib has it, out of what `serialize()` gives.

    ValueError: it is not there, or otherwise than expected. RuntimeError: jaxlib refuses this one too.
    """
    read = importlib.import_module("jaxlib._hlo").HloModule.from_serialized_hlo_module_proto
    return read(mended(optimised(executable)))


def optimised(executable: bytes) -> bytes:
    """The one HloModuleProto of a serialised executable."""
    configured = [part for record in records(executable) for part in _parts(record, CONFIGURED)]
    modules = [part for one in configured for part in _parts(one, MODULE)]
    modules = [one for one in modules if {field.number for field in _fields(one)} >= NAMED]
    if len(modules) != 1:
        raise ValueError(f"{len(modules)} modules in the executable")
    return modules[0]


def _parts(data: bytes, number: int) -> list[bytes]:
    return [field.value for field in _fields(data) if field.number == number and field.kind == BYTES]


def _fields(data: bytes) -> list[MessageField]:
    """Of what may be a message; none where it is something else, as a text is."""
    try:
        return message(data)
    except ValueError:
        return []


def mended(proto: bytes) -> bytes:
    """The HloModuleProto without operands of async-updates but their first."""
    gone: set[int] = set()
    fields = message(proto)
    for at, field in enumerate(fields):
        if field.number == COMPUTATIONS and b"async-update" in field.value:
            fields[at] = field._replace(value=_bind_operands(field.value, gone))
    for at, field in enumerate(fields):
        if field.number == SCHEDULE and gone:
            fields[at] = field._replace(value=_without(field.value, gone))
    return encoded(fields)


def _bind_operands(computation: bytes, gone: set[int]) -> bytes:
    """The computation with all operands at its async-starts; ids of what that leaves out go to `gone`."""
    others: list[MessageField] = []
    instructions: dict[int, list[MessageField]] = {}
    for field in message(computation):
        if field.number != INSTRUCTIONS:
            others.append(field)
            continue
        one = message(field.value)
        (own,) = _ids(one, ID)
        if _opcode(one) == b"async-update" and len(operands := _ids(one, OPERANDS)) > 1:
            one = _merged_start(instructions.pop(operands[0], []), one, operands[1:])
            gone.add(operands[0])
        instructions[own] = one
    return encoded(
        [*others, *(MessageField(INSTRUCTIONS, BYTES, encoded(one)) for one in instructions.values())]
    )


def _merged_start(
    start: list[MessageField], update: list[MessageField], late: list[int]
) -> list[MessageField]:
    """An async-start with the operands of both, and with the update's id, shape and predecessors."""
    if _opcode(start) != b"async-start":
        raise ValueError("late operands of no async-start in the same computation")
    place = (ID, SHAPE, PREDECESSORS)
    kept = [field for field in start if field.number not in (*place, OPERANDS)]
    taken = [field for field in update if field.number in place]
    return [*kept, *taken, packed(OPERANDS, [*_ids(start, OPERANDS), *late])]


def _without(schedule: bytes, gone: set[int]) -> bytes:
    """The schedule without these instructions."""
    sequences = message(schedule)
    for at, entry in enumerate(sequences):
        if entry.number == SEQUENCES:
            parts = message(entry.value)
            for place, part in enumerate(parts):
                if part.number == SEQUENCE:
                    left = [one for one in _ids(message(part.value), SEQUENCE_IDS) if one not in gone]
                    parts[place] = part._replace(value=encoded([packed(SEQUENCE_IDS, left)]))
            sequences[at] = entry._replace(value=encoded(parts))
    return encoded(sequences)


def _ids(fields: list[MessageField], number: int) -> list[int]:
    return [one for field in fields if field.number == number for one in field.numbers]


def _opcode(instruction: list[MessageField]) -> bytes:
    return b"".join(field.value for field in instruction if field.number == OPCODE)
