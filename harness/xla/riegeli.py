"""Riegeli files, which hold messages as records: those that XLA writes its executables in.

Source: Riegeli's specification of record files. What does not follow it is a ValueError.
"""

import struct
from collections.abc import Iterator

from harness.xla.protobuf import BYTES, possible_message, read_varint, read_varints, slice_of
from harness.xla.snappy import decompress

# The first block header of every Riegeli file: its hash, no chunk before it, the next one 64 bytes on.
SIGNATURE = bytes.fromhex("83af70d10d884a3f00000000000000004000000000000000")
BLOCK, BLOCK_HEADER = 1 << 16, 24  # a file is cut into blocks, whose headers are no part of what it holds
CHUNK = struct.Struct("<5Q")  # hash, size, hash, kind and number of records, size of records
SIMPLE = ord("r")  # the kind of a chunk that holds its records one after the other
PLAIN, SNAPPY = b"\0", b"s"  # how a chunk is compressed


def records(data: bytes) -> Iterator[bytes]:
    """The records of the one Riegeli file in these bytes; of compressed chunks those that Snappy has made."""
    start = data.find(SIGNATURE)
    if start < 0:
        raise ValueError("no file of records in these bytes")
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
    """Those of what `serialize()` gives: a header of jax's behind its length, and a message with the file."""
    size, at = read_varint(executable, 0)
    for field in possible_message(executable[at + size :]):
        if field.kind == BYTES and field.value.startswith(SIGNATURE):
            yield from records(field.value)
            return
    yield from records(executable)


def _simple(chunk: bytes) -> Iterator[bytes]:
    """Behind the byte for the compression: the size of the sizes, the sizes of the records, the records."""
    length, at = read_varint(chunk, 1)
    sizes, values = slice_of(chunk, at, length), chunk[at + length :]
    if chunk[:1] == SNAPPY:
        sizes, values = _decompress(sizes), _decompress(values)
    at = 0
    for size in read_varints(sizes):
        yield slice_of(values, at, size)
        at += size


def _decompress(data: bytes) -> bytes:
    """Behind the size that it has decompressed, which Snappy says itself."""
    return decompress(data[read_varint(data, 0)[1] :])
