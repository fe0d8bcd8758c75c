"""A record as one line of JSON that carries its own checksum.

The checksum is taken over the object without it, keys sorted: a tool that rewrites a line with other
spacing, key order or with fields this version does not know leaves a valid line.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import orjson

from harness.spec.record import Record

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
