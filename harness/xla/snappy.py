"""Snappy decompression, by Google's format_description.txt."""

from harness.xla.protobuf import read_varint


def decompress(data: bytes) -> bytes:
    r"""The decompressed bytes. ValueError where the data are cut short, or longer than announced.

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
                raise ValueError("compressed bytes copy what is not there")
            if back > count:
                out += out[start : start + count + 1]
            else:  # a copy that overlaps its own output repeats it
                for place in range(start, start + count + 1):
                    out.append(out[place])
    except IndexError:
        raise ValueError("compressed bytes end too early") from None
    if len(out) != size:
        raise ValueError(f"{size} bytes announced, {len(out)} there")
    return bytes(out)
