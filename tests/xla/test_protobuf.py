"""Messages, written by hand."""

import pytest

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
