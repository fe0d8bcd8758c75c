"""Bytes of two formats: protocol buffers' messages, and the Riegeli files that hold them as records.

Sources: protocol buffers' specification of the wire format, Riegeli's of record files. What follows
neither is a ValueError.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # kinds of fields
FIXED = {FIXED64: 8, FIXED32: 4}

# The first block header of every Riegeli file: its hash, no chunk before it, the next one 64 bytes on.
SIGNATURE = bytes.fromhex("83af70d10d884a3f00000000000000004000000000000000")
BLOCK, BLOCK_HEADER = 1 << 16, 24  # a file is cut into blocks, whose headers are no part of what it holds
CHUNK = struct.Struct("<5Q")  # hash, size, hash, kind and number of records, size of records
SIMPLE = ord("r")  # the kind of a chunk that holds its records one after the other


class MessageField(NamedTuple):
    """One field of a message; `value` is its bytes without tag and length, a number's as written."""

    number: int
    kind: int
    value: bytes

    @property
    def numbers(self) -> list[int]:
        """A field of whole numbers, packed or one by one."""
        return list(_varints(self.value))


def message(data: bytes) -> list[MessageField]:
    """The fields of a message in the order in which they are written."""
    fields: list[MessageField] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            size = _varint(data, at)[1] - at
        elif kind == BYTES:
            size, at = _varint(data, at)
        elif kind in FIXED:
            size = FIXED[kind]
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        fields.append(MessageField(number, kind, _slice(data, at, size)))
        at += size
    return fields


def encode(fields: Iterable[MessageField]) -> bytes:
    """The bytes of a message of these fields."""
    parts: list[bytes] = []
    for number, kind, value in fields:
        parts += [varint(number << 3 | kind), varint(len(value)) if kind == BYTES else b"", value]
    return b"".join(parts)


def packed_field(number: int, values: Iterable[int]) -> MessageField:
    """A field of several whole numbers."""
    return MessageField(number, BYTES, b"".join(varint(value) for value in values))


def varint(value: int) -> bytes:
    r"""A whole number that is not negative, seven bits a byte.

    >>> varint(300)
    b'\xac\x02'
    """
    parts: list[int] = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def records(data: bytes) -> Iterator[bytes]:
    """The records of the one Riegeli file in these bytes, without those of chunks that are compressed."""
    start = data.find(SIGNATURE)
    if start < 0:
        raise ValueError("no file of records in these bytes")
    blocks = range(start, len(data), BLOCK)
    stream = b"".join(data[at + BLOCK_HEADER : at + BLOCK] for at in blocks)
    at = 0
    while at < len(stream):
        _, size, _, kind, _ = CHUNK.unpack(_slice(stream, at, CHUNK.size))
        chunk = _slice(stream, at + CHUNK.size, size)
        if kind & 0xFF == SIMPLE and chunk[:1] == b"\0":
            yield from _simple(chunk)
        at += CHUNK.size + size


def _simple(chunk: bytes) -> Iterator[bytes]:
    """Behind the byte for no compression: the size of the sizes, the sizes of the records, the records."""
    length, at = _varint(chunk, 1)
    sizes = _slice(chunk, at, length)
    at += length
    for size in _varints(sizes):
        yield _slice(chunk, at, size)
        at += size


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins here, and where the next thing does."""
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:  # the bit that says there is more
            return value, at + shift + 1
    raise ValueError("a number without an end")


def _slice(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if len(part) != size:
        raise ValueError(f"{size} bytes announced, {len(part)} there")
    return part
