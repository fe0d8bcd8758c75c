"""Messages, written by hand."""

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


def literal(data):
    """Snappy's form of bytes of which none repeat, behind the size that Riegeli gives."""
    return varint(len(data)) + varint(len(data)) + bytes([len(data) - 1 << 2]) + data


def test_records_compressed_by_snappy_are_read_and_others_left_out():
    sizes, values = literal(varint(3) + varint(2)), literal(b"abcde")
    compressed = chunk("r", b"s" + varint(len(sizes)) + sizes + values, 2)
    other = simple(b"x", compression=b"z")
    assert list(protobuf.records(in_blocks(compressed, other, simple(b"y")))) == [b"abc", b"de", b"y"]


@pytest.mark.parametrize("data", [b"", b"nothing", in_blocks(simple(b"x"))[:-1], in_blocks() + b"more"])
def test_what_is_no_file_of_records_is_refused(data):
    with pytest.raises(ValueError, match=r"no file|announced"):
        list(protobuf.records(data))


@pytest.mark.parametrize(
    ("data", "plain"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x40\xf0\x3f" + bytes(64), bytes(64)),  # a literal whose length has a byte of its own
        (b"\x07\x08abc\x01\x03", b"abcabca"),  # four bytes from three back: what it has just written, too
        (b"\x06\x08abc\x0a\x03\x00", b"abcabc"),  # with two bytes of distance
        (b"\x06\x08abc\x0b\x03\x00\x00\x00", b"abcabc"),  # with four
    ],
)
def test_it_is_decompressed(data, plain):
    assert protobuf.decompress(data) == plain


@pytest.mark.parametrize("data", [b"\x04\x08abc", b"\x03\x08ab", b"\x03\x01", b"\x07\x08abc\x01\x04"])
def test_what_is_cut_short_is_refused(data):
    with pytest.raises(ValueError, match=r"announced|early|not there"):
        protobuf.decompress(data)
