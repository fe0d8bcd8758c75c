"""Protocol buffers' wire format: messages of unknown schema as lists of fields.

ValueError for bytes that do not follow the format.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # kinds of fields
FIXED = {FIXED64: 8, FIXED32: 4}


class MessageField(NamedTuple):
    """One field of a message; `value` are its bytes without tag and length, still encoded."""

    number: int
    kind: int
    value: bytes

    @property
    def numbers(self) -> list[int]:
        """The integers of a field, packed or single."""
        return list(read_varints(self.value))


def message(data: bytes) -> list[MessageField]:
    """The fields of a message in the order in which they are written."""
    fields: list[MessageField] = []
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            size = read_varint(data, at)[1] - at
        elif kind == BYTES:
            size, at = read_varint(data, at)
        elif kind in FIXED:
            size = FIXED[kind]
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        fields.append(MessageField(number, kind, slice_of(data, at, size)))
        at += size
    return fields


def possible_message(data: bytes) -> list[MessageField]:
    """The fields of bytes that may be a message; empty if they are something else, such as text."""
    try:
        return message(data)
    except ValueError:
        return []


def inside(parts: Iterable[bytes], number: int) -> list[bytes]:
    """The contents of the length-delimited fields of this number, in parts that may be messages."""
    fields = (field for part in parts for field in possible_message(part))
    return [field.value for field in fields if field.number == number and field.kind == BYTES]


def number_of(fields: list[MessageField], number: int) -> int:
    """The first integer of this field; 0, the default, which is not written, if it is missing."""
    return next((n for each in fields if each.number == number for n in each.numbers), 0)


def encode(fields: Iterable[MessageField]) -> bytes:
    """The bytes of a message of these fields."""
    parts: list[bytes] = []
    for number, kind, value in fields:
        parts += [varint(number << 3 | kind), varint(len(value)) if kind == BYTES else b"", value]
    return b"".join(parts)


def packed_field(number: int, values: Iterable[int]) -> MessageField:
    """A packed field of integers."""
    return MessageField(number, BYTES, b"".join(varint(value) for value in values))


def varint(value: int) -> bytes:
    r"""A non-negative integer as a varint, seven bits per byte.

    >>> varint(300)
    b'\xac\x02'
    """
    parts: list[int] = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def read_varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(the varint at this offset, the offset after it)."""
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:  # without the continuation bit
            return value, at + shift + 1
    raise ValueError("a number without an end")


def slice_of(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if len(part) != size:
        raise ValueError(f"{size} bytes announced, {len(part)} there")
    return part
