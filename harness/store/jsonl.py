"""Records as lines of JSON with a checksum each, and which lines of a file can be read.

The checksum is taken over the object without it, keys sorted: a tool that rewrites a line with other
spacing, key order or with fields this version does not know leaves a valid line. A line is written with
its keys sorted too, and the checksum last, so that reading it back sums the text as it stands.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.core.record import SCHEMA, Record

CHECKSUM = b',"crc32":"'

Part = tuple[int, int]  # which record of how many, in the append that wrote it

_RECORD = msgspec.json.Decoder(Record)
_APPEND = re.compile(rb'\{"append":\[(\d+),(\d+)\],')  # how a record begins whose keys are sorted
_THIS_SCHEMA = b',"schema":%d,"seed":' % SCHEMA


def encode(records: Sequence[Record]) -> bytes:
    """The lines of one append.

    ValueError names the case of a record that holds a value without a JSON form.
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
    """The object of a line whose checksum holds, without it. ValueError says what is wrong."""
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the line is torn or no JSON") from None
    if not isinstance(data, dict) or "crc32" not in data:
        raise ValueError("the line has no crc32")
    checksum = data.pop("crc32")
    if checksum != _checksum(_canonical(data)):
        raise ValueError("the checksum does not fit: the line was damaged or edited")
    return data


def part_of_line(data: Mapping[str, Any]) -> Part:
    """A line's place in its append; a line that names none is an append of its own."""
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
    """One line by its number from 1, without its newline: it has a record or a problem."""

    number: int
    data: bytes
    record: Record | None
    part: Part = (1, 1)
    problem: str = ""


def read_line(number: int, line: bytes) -> Line:
    """The line of these bytes, without their newline."""
    as_written = _read_as_written(number, line)
    if as_written is not None:
        return as_written
    try:
        data = unseal(line)
        return Line(number, line, Record.from_json(data), part_of_line(data))
    except (ValueError, RecursionError) as error:
        return Line(number, line, None, problem=str(error))


def _read_as_written(number: int, line: bytes) -> Line | None:
    """A line that stands as :func:`encode` wrote it, or an earlier version; None for any other line.

    The text is summed as it stands and decoded once, straight into its form: half the work of the way
    through plain data, which alone says what is wrong with a line.
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
    """Every line of a file. The last one may lack its newline: it counts when its checksum holds."""
    for number, line in enumerate(file, start=1):
        yield read_line(number, line.removesuffix(b"\n"))


def split_whole(read: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """(lines of complete appends, the rest). Half of an append is no group to compare."""
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
