"""A record as one line of JSON with its own checksum, and which lines of a file can be read.

The checksum is taken over the object without it, keys sorted: a tool that rewrites a line with other
spacing, key order or with fields this version does not know leaves a valid line. A line is written with
its keys sorted too, and the checksum last, so that reading it back sums the text as it stands.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from harness.core.record import SCHEMA, Record

EXPONENT = re.compile(rb'"(?:[^"\\]|\\.)*"|(?<=\de)(?=\d)')
CHECKSUM = b',"crc32":"'

Part = tuple[int, int]  # which record of how many, in the append that wrote it


_RECORD = msgspec.json.Decoder(Record)
_APPEND = re.compile(rb'\{"append":\[(\d+),(\d+)\],')  # how a line begins whose keys are sorted
_SCHEMA = b',"schema":%d,"seed":' % SCHEMA


def encode(record: Record, part: Part = (1, 1)) -> bytes:
    """The record's line, with its newline. ValueError when a value has no JSON form."""
    try:
        text = _canonical({**record.to_json(), "append": list(part)})
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{record.case} cannot be stored: {error}") from None
    return b'%b%b%b"}\n' % (text.removesuffix(b"}"), CHECKSUM, _checksum(text).encode())


def unseal(line: bytes) -> dict[str, Any]:
    """The object of a line whose checksum holds, without it. ValueError says what is wrong."""
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the line is torn or no JSON") from None
    if not isinstance(data, dict) or "crc32" not in data:
        raise ValueError("the line has no crc32")
    checksum = data.pop("crc32")
    text = _canonical(data)
    if checksum != _checksum(text) and checksum != _checksum(_with_signed_exponents(text)):
        raise ValueError("the checksum does not fit: the line was damaged or edited")
    return data


def decode(line: bytes) -> Record:
    """The record of a line. ValueError when the line is damaged or not of this schema."""
    return _decode_line(line)[0]


def _decode_line(line: bytes) -> tuple[Record, Part]:
    """(record, its place in its append); ValueError as in :func:`decode`."""
    as_written = _decode_as_written(line)
    if as_written is not None:
        return as_written
    try:
        data = unseal(line)
        return Record.from_json(data), part_of(data)
    except RecursionError:
        raise ValueError("its values are nested too deeply to read") from None


def _decode_as_written(line: bytes) -> tuple[Record, Part] | None:
    """The record of a line that stands as :func:`encode` wrote it, and its place; None for any other line.

    The text is summed as it stands and decoded once, straight into a record: half the work of the way
    through plain data, which alone says what is wrong with a line.
    """
    text, _, checksum = line.rpartition(CHECKSUM)
    if checksum != b'%08x"}' % zlib.crc32(b"}", zlib.crc32(text)):
        return None
    begins = _APPEND.match(text)
    if begins is None or _SCHEMA not in text:
        return None
    try:
        return _RECORD.decode(line), (int(begins[1]), int(begins[2]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def part_of(data: Mapping[str, Any]) -> Part:
    """Its place in its append; a line from elsewhere is an append of its own."""
    written = data.get("append")
    if isinstance(written, list) and len(written) == 2 and all(isinstance(n, int) for n in written):
        return (written[0], written[1])
    return (1, 1)


def _canonical(data: Mapping[str, Any]) -> bytes:
    """The object as text, keys sorted."""
    return msgspec.json.encode(data, order="deterministic")


def _with_signed_exponents(text: bytes) -> bytes:
    """1e+16 for 1e16 outside of strings: so numbers stood in the text that earlier versions summed."""
    return EXPONENT.sub(lambda match: match[0] or b"+", text)


def _checksum(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


class Line(NamedTuple):
    """One line by its number from 1, without its newline: it has a record, or a problem."""

    number: int
    data: bytes
    record: Record | None
    part: Part
    problem: str


def lines(file: Iterable[bytes]) -> Iterator[Line]:
    """Every line of a file. The last one may lack its newline: it counts when its checksum holds."""
    for number, line in enumerate(file, start=1):
        data = line.removesuffix(b"\n")
        try:
            yield Line(number, data, *_decode_line(data), "")
        except ValueError as error:
            yield Line(number, data, None, (1, 1), str(error))


def split_whole(read: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """(lines of complete appends, the rest). A group is measured at once: half of it is no group."""
    whole: list[Line] = []
    rest: list[Line] = []
    begun: list[Line] = []
    for line in read:
        index, count = line.part
        if begun and (line.record is None or line.part != (len(begun) + 1, begun[0].part[1])):
            rest += begun
            begun = []
        if line.record is None or index != len(begun) + 1:
            rest.append(line)
            continue
        begun.append(line)
        if index == count:
            whole += begun
            begun = []
    return whole, rest + begun
