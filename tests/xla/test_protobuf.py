"""Messages, written by hand."""

import struct

import pytest

from harness.xla import protobuf
from harness.xla.protobuf import (
    varint,
)


def chunk(kind, data, count=0):
    return struct.pack("<QQQQQ", 0, len(data), 0, ord(kind) | count << 8, 0) + data


def simple(*records, compression=b"\0"):
    sizes = b"".join(varint(len(record)) for record in records)
    return chunk("r", compression + varint(len(sizes)) + sizes + b"".join(records), len(records))


def in_blocks(*chunks):
    """A file of these chunks. Every 64 KiB begin with a 24-byte block header."""
    stream = chunk("s", b"") + b"".join(chunks)
    size = protobuf.BLOCK - protobuf.BLOCK_HEADER
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    return b"".join(
        [protobuf.SIGNATURE, parts[0], *(b"h" * protobuf.BLOCK_HEADER + part for part in parts[1:])]
    )


def test_records_continue_after_block_headers():
    records = [b"first", bytes(range(256)) * 1000, b"", b"last"]
    file = in_blocks(simple(*records[:2]), chunk("p", b"padding"), simple(*records[2:]))
    assert list(protobuf.records(b"a header" + file)) == records


def literal(data):
    """Snappy's encoding of bytes without repetitions, after Riegeli's size."""
    return varint(len(data)) + varint(len(data)) + bytes([len(data) - 1 << 2]) + data


def test_records_compressed_by_snappy_are_read_and_others_left_out():
    sizes, values = literal(varint(3) + varint(2)), literal(b"abcde")
    compressed = chunk("r", b"s" + varint(len(sizes)) + sizes + values, 2)
    other = simple(b"x", compression=b"z")
    assert list(protobuf.records(in_blocks(compressed, other, simple(b"y")))) == [b"abc", b"de", b"y"]


@pytest.mark.parametrize("data", [b"", b"nothing", in_blocks(simple(b"x"))[:-1], in_blocks() + b"more"])
def test_data_that_is_not_a_file_of_records_is_refused(data):
    with pytest.raises(ValueError, match=r"not a file|announced"):
        list(protobuf.records(data))
