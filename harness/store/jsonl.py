"""Records as lines of JSON with a checksum each, and which lines of a file can be read.

The checksum is over the object without it, with sorted keys. So a line stays valid if a tool rewrites it
with other spacing or key order, or with unknown fields. A line is written with sorted keys and the checksum
last, so that its text can be checked without decoding it.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.core.record import SCHEMA, Record

CHECKSUM = b',"crc32":"'

Part = tuple[int, int]  # (number, count) of a record in the append that wrote it

_RECORD = msgspec.json.Decoder(Record)
_APPEND = re.compile(rb'\{"append":\[(\d+),(\d+)\],')  # the start of a record with sorted keys
_THIS_SCHEMA = b',"schema":%d,"seed":' % SCHEMA


def encode(records: Sequence[Record]) -> bytes:
    """The lines of one append.

    ValueError names the case of a record with a value that has no JSON form.
    """
    text: list[bytes] = []
    for index, record in enumerate(records, start=1):
        try:
            text.append(seal({**record.to_json(), "append": [index, len(records)]}))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{record.case} cannot be stored: {error}") from None
    return b"".join(text)


def seal(data: Mapping[str, Any]) -> bytes:
    """The line of an object, with its checksum and its newline."""
    text = _canonical(data)
    return b'%b%b%b"}\n' % (text.removesuffix(b"}"), CHECKSUM, _checksum(text).encode())


def unseal(line: bytes) -> dict[str, Any]:
    """The object of a line, without its checksum. ValueError if the line or its checksum is wrong."""
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the line is incomplete or not JSON") from None
    if not isinstance(data, dict) or "crc32" not in data:
        raise ValueError("the line has no crc32")
    checksum = data.pop("crc32")
    if checksum != _checksum(_canonical(data)):
        raise ValueError("the checksum does not match, because the line was damaged or edited")
    return data


def part_of_line(data: Mapping[str, Any]) -> Part:
    """A line's place in its append; a line without a place is a whole append."""
    written = data.get("append")
    if isinstance(written, list) and len(written) == 2 and all(isinstance(n, int) for n in written):
        return (written[0], written[1])
    return (1, 1)


def _canonical(data: Mapping[str, Any]) -> bytes:
    """The object as text, keys sorted."""
    return msgspec.json.encode(data, order="deterministic")


def _checksum(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


class Line(NamedTuple):
    """One line without its newline, with a record or a problem; numbers start at 1."""

    number: int
    data: bytes
    record: Record | None
    part: Part = (1, 1)
    problem: str = ""


def read_line(number: int, line: bytes) -> Line:
    """Read a line from its bytes without the newline."""
    as_written = _read_as_written(number, line)
    if as_written is not None:
        return as_written
    try:
        data = unseal(line)
        return Line(number, line, Record.from_json(data), part_of_line(data))
    except (ValueError, RecursionError) as error:
        return Line(number, line, None, problem=str(error))


def _read_as_written(number: int, line: bytes) -> Line | None:
    """A line as :func:`encode` of this or an earlier version wrote it; None for any other line.

    The text is checked without decoding, and decoded once into a Record. That is half the work of reading
    plain data first, which only damaged or edited lines need.
    """
    text, _, checksum = line.rpartition(CHECKSUM)
    begins = _APPEND.match(text)
    if begins is None or _THIS_SCHEMA not in text:
        return None
    if checksum != b'%08x"}' % zlib.crc32(b"}", zlib.crc32(text)):
        return None
    try:
        return Line(number, line, _RECORD.decode(line), (int(begins[1]), int(begins[2])))
    except (ValueError, RecursionError):
        return None


def lines(file: Iterable[bytes]) -> Iterator[Line]:
    """Every line of a file. A last line without a newline is valid if its checksum matches."""
    for number, line in enumerate(file, start=1):
        yield read_line(number, line.removesuffix(b"\n"))


def split_whole(read: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """(lines of complete appends, other lines). Cases of an incomplete append cannot be compared."""
    whole: list[Line] = []
    rest: list[Line] = []
    partial: list[Line] = []
    for line in read:
        index, count = line.part
        if partial and (line.record is None or line.part != (len(partial) + 1, partial[0].part[1])):
            rest += partial
            partial = []
        if line.record is None or index != len(partial) + 1:
            rest.append(line)
            continue
        partial.append(line)
        if index == count:
            whole += partial
            partial = []
    return whole, rest + partial
