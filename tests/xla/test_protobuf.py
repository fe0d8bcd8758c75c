"""Messages and files of records, written by hand."""

import struct

import pytest

from harness.xla import protobuf
from harness.xla.protobuf import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    MessageField,
    encode,
    message,
    packed_field,
    varint,
)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 1 << 35 | 3, (1 << 64) - 1])
def test_a_number_is_read_as_it_was_written(value):
    assert MessageField(1, VARINT, varint(value)).numbers == [value]


def test_a_message_by_hand():
    assert message(b"\x08\x96\x01\x12\x02ab\x1d\0\0\x80\x3f") == [
        MessageField(1, VARINT, b"\x96\x01"),
        MessageField(2, BYTES, b"ab"),
        MessageField(3, FIXED32, b"\0\0\x80\x3f"),
    ]
    fields = [MessageField(99, FIXED64, b"12345678"), packed_field(36, [1, 300])]
    fields.append(MessageField(36, BYTES, b""))
    assert message(encode(fields)) == fields
    assert fields[1].numbers == [1, 300]


@pytest.mark.parametrize("data", [b"\x08", b"\x12\x03ab", b"\x0b", b"\x09abc", b"\xff" * 11])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ValueError, match=r"announced|end|kind"):
        message(data)


def chunk(kind, data, count=0):
    return struct.pack("<QQQQQ", 0, len(data), 0, ord(kind) | count << 8, 0) + data


def simple(*records, compression=b"\0"):
    sizes = b"".join(varint(len(record)) for record in records)
    return chunk("r", compression + varint(len(sizes)) + sizes + b"".join(records), len(records))


def in_blocks(*chunks):
    """A file of these chunks: every 64 KiB begin with 24 bytes that are none of theirs."""
    stream = chunk("s", b"") + b"".join(chunks)
    size = protobuf.BLOCK - protobuf.BLOCK_HEADER
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    return b"".join(
        [protobuf.SIGNATURE, parts[0], *(b"h" * protobuf.BLOCK_HEADER + part for part in parts[1:])]
    )


def test_records_go_on_behind_the_headers_of_blocks():
    records = [b"first", bytes(range(256)) * 1000, b"", b"last"]
    file = in_blocks(simple(*records[:2]), chunk("p", b"padding"), simple(*records[2:]))
    assert list(protobuf.records(b"a header" + file)) == records


def test_compressed_records_are_left_out():
    assert list(protobuf.records(in_blocks(simple(b"x", compression=b"z"), simple(b"y")))) == [b"y"]


@pytest.mark.parametrize("data", [b"", b"nothing", in_blocks(simple(b"x"))[:-1], in_blocks() + b"more"])
def test_what_is_no_file_of_records_is_refused(data):
    with pytest.raises(ValueError, match=r"no file|announced"):
        list(protobuf.records(data))
