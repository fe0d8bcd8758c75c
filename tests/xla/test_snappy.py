"""Snappy's form, by its published description and hand-made streams."""

import pytest

from harness.xla.snappy import decompress


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
    assert decompress(data) == plain


@pytest.mark.parametrize("data", [b"\x04\x08abc", b"\x03\x08ab", b"\x03\x01", b"\x07\x08abc\x01\x04"])
def test_what_is_cut_short_is_refused(data):
    with pytest.raises(ValueError, match=r"announced|early|not there"):
        decompress(data)
