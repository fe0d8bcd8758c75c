"""A record as one line of JSON with its own checksum, and which lines of a file can be read.

The checksum is taken over the object without it, keys sorted: a tool that rewrites a line with other
spacing, key order or with fields this version does not know leaves a valid line.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from harness.core.record import Record

Part = tuple[int, int]  # which record of how many, in the append that wrote it


def encode(record: Record, part: Part = (1, 1)) -> bytes:
    """The record's line, with its newline. ValueError when a value has no JSON form."""
    data = {**record.to_json(), "append": list(part)}
    try:
        return orjson.dumps({**data, "crc32": _checksum(data)}) + b"\n"
    except TypeError as error:
        raise ValueError(f"{record.case} cannot be stored: {error}") from None


def unseal(line: bytes) -> dict[str, Any]:
    """The object of a line whose checksum holds, without it. ValueError says what is wrong."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise ValueError("the line is torn or no JSON") from None
    if not isinstance(data, dict) or "crc32" not in data:
        raise ValueError("the line has no crc32")
    found = data.pop("crc32")
    if found != _checksum(data):
        raise ValueError("the checksum does not fit: the line was damaged or edited")
    return data


def decode(line: bytes) -> Record:
    """The record of a line. ValueError when the line is damaged or not of this schema."""
    return record_of(unseal(line))


def record_of(data: Mapping[str, Any]) -> Record:
    try:
        return Record.from_json(data)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a record: {error}") from None


def part_of(data: Mapping[str, Any]) -> Part:
    """Its place in its append; a line from elsewhere is an append of its own."""
    written = data.get("append")
    if isinstance(written, list) and len(written) == 2 and all(isinstance(n, int) for n in written):
        return (written[0], written[1])
    return (1, 1)


def _checksum(data: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(orjson.dumps(data, option=orjson.OPT_SORT_KEYS)):08x}"


@dataclass(frozen=True)
class Line:
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
        part: Part = (1, 1)
        try:
            unsealed = unseal(data)
            part = part_of(unsealed)
            yield Line(number, data, record_of(unsealed), part, "")
        except ValueError as error:
            yield Line(number, data, None, part, str(error))


def split_whole(found: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """(lines of complete appends, the rest). A group is measured at once: half of it is no group."""
    whole: list[Line] = []
    rest: list[Line] = []
    begun: list[Line] = []
    for line in found:
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
