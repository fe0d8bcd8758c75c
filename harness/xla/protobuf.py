"""Protocol buffers' wire format, and the Riegeli files of messages in which XLA serialises executables.

A message of unknown schema is a list of fields. Sources of the rest: Riegeli's specification of record files,
and Google's format_description.txt of Snappy. ValueError for bytes that do not follow a format.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # kinds of fields
FIXED = {FIXED64: 8, FIXED32: 4}
# The first block header of every file: its hash, 0 (no previous chunk), 64 (the next chunk's offset).
SIGNATURE = bytes.fromhex("83af70d10d884a3f00000000000000004000000000000000")
BLOCK, BLOCK_HEADER = 1 << 16, 24  # a file is cut into blocks, whose headers interrupt its content
CHUNK = struct.Struct("<5Q")  # hash, size, hash, kind and number of records, size of records
SIMPLE = ord("r")  # the kind of a chunk that stores its records one after the other
PLAIN, SNAPPY = b"\0", b"s"  # how a chunk is compressed


class MessageField(NamedTuple):
    """One field of a message; `value` is its encoded bytes without tag and length."""

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
            raise ValueError(f"a field of unknown kind {kind}")
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


def numbers_of(fields: list[MessageField], number: int) -> list[int]:
    """All integers of this field."""
    return [value for field in fields if field.number == number for value in field.numbers]


def number_of(fields: list[MessageField], number: int) -> int:
    """The first integer of this field; 0, the default, if it is missing."""
    return next(iter(numbers_of(fields, number)), 0)


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
    raise ValueError("an unterminated number")


def slice_of(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if len(part) != size:
        raise ValueError(f"{size} bytes announced, {len(part)} there")
    return part


def records(data: bytes) -> Iterator[bytes]:
    """The records of the one Riegeli file in these bytes, in chunks that are plain or Snappy-compressed."""
    start = data.find(SIGNATURE)
    if start < 0:
        raise ValueError("not a file of records")
    blocks = range(start, len(data), BLOCK)
    stream = b"".join(data[at + BLOCK_HEADER : at + BLOCK] for at in blocks)
    at = 0
    while at < len(stream):
        _, size, _, kind, _ = CHUNK.unpack(slice_of(stream, at, CHUNK.size))
        chunk = slice_of(stream, at + CHUNK.size, size)
        if kind & 0xFF == SIMPLE and chunk[:1] in (PLAIN, SNAPPY):
            yield from _simple(chunk)
        at += CHUNK.size + size


def of_executable(executable: bytes) -> Iterator[bytes]:
    """The records of jax's `serialize()`: a length, that much header, and a message with the file."""
    size, at = read_varint(executable, 0)
    for field in possible_message(executable[at + size :]):
        if field.kind == BYTES and field.value.startswith(SIGNATURE):
            yield from records(field.value)
            return
    yield from records(executable)


def _simple(chunk: bytes) -> Iterator[bytes]:
    """After a byte for the compression: the size of the sizes, the records' sizes, the records."""
    length, at = read_varint(chunk, 1)
    sizes, values = slice_of(chunk, at, length), chunk[at + length :]
    if chunk[:1] == SNAPPY:
        sizes, values = _decompress(sizes), _decompress(values)
    at = 0
    for size in read_varints(sizes):
        yield slice_of(values, at, size)
        at += size


def _decompress(data: bytes) -> bytes:
    """Skip the decompressed size, which Snappy's own format repeats."""
    return decompress(data[read_varint(data, 0)[1] :])


def decompress(data: bytes) -> bytes:
    r"""The decompressed bytes. ValueError if the data is truncated, or longer than announced.

    >>> decompress(b"\x08\x04ab\x09\x02")
    b'abababab'
    """
    size, at = read_varint(data, 0)
    out = bytearray()
    try:
        while at < len(data):
            tag = data[at]
            kind, count = tag & 3, tag >> 2
            at += 1
            if kind == 0:  # a literal
                if count >= 60:
                    width = count - 59
                    count = int.from_bytes(data[at : at + width], "little")
                    at += width
                out += data[at : at + count + 1]
                at += count + 1
                continue
            width = (1, 2, 4)[kind - 1]
            back = int.from_bytes(data[at : at + width], "little")
            at += width
            if kind == 1:
                count, back = (count & 7) + 3, back | tag >> 5 << 8
            start = len(out) - back
            if start < 0:
                raise ValueError("compressed data copies from outside the output")
            if back > count:
                out += out[start : start + count + 1]
            else:  # a copy that overlaps its own output repeats it
                for place in range(start, start + count + 1):
                    out.append(out[place])
    except IndexError:
        raise ValueError("compressed data ends too early") from None
    if len(out) != size:
        raise ValueError(f"{size} bytes announced, {len(out)} there")
    return bytes(out)
