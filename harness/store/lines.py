"""The lines of records.jsonl: which can be read, and which belong to an append that is whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.spec.record import Record
from harness.store.codec import Part, part_of, record_of, unseal


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
    """(lines of complete appends, the rest). A group is one sitting, so half of an append is no group."""
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
