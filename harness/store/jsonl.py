"""Records as lines of JSON with a checksum each, and which lines of a file can be read.

The checksum is taken over the object without it, keys sorted: a tool that rewrites a line with other
spacing, key order or with fields this version does not know leaves a valid line. A line is written with
its keys sorted too, and the checksum last, so that reading it back sums the text as it stands.

Lines of schema 1 are whole records. Those of schema 2 are packed, or define what packed ones share.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.core import record as whole
from harness.core.plain_data import from_plain
from harness.core.record import Record
from harness.store.packing.definitions import Packer, read_definition
from harness.store.packing.packed_record import SCHEMA, Bases, Fields, PackedRecord, plain_of, unpack_record

EXPONENT = re.compile(rb'"(?:[^"\\]|\\.)*"|(?<=\de)(?=\d)')
CHECKSUM = b',"crc32":"'

Part = tuple[int, int]  # which record of how many, in the append that wrote it


_RECORD = msgspec.json.Decoder(Record)
_PACKED = msgspec.json.Decoder(PackedRecord)
_APPEND = re.compile(rb'\{"append":\[(\d+),(\d+)\],')  # how a record begins whose keys are sorted
_WHOLE = b',"schema":%d,"seed":' % whole.SCHEMA


def encode(records: Sequence[Record], packer: Packer) -> bytes:
    """The lines of one append, behind the definitions that the file still lacks.

    ValueError names the case of a record that holds a value without a JSON form.
    """
    definitions, lines = packer.pack(records)
    parts = [{**line, "append": [index, len(lines)]} for index, line in enumerate(lines, start=1)]
    return b"".join(map(seal, [*definitions, *parts]))


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
    text = _canonical(data)
    if checksum != _checksum(text) and checksum != _checksum(_with_signed_exponents(text)):
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


def _with_signed_exponents(text: bytes) -> bytes:
    """1e+16 for 1e16 outside of strings: so numbers stood in the text that earlier versions summed."""
    return EXPONENT.sub(lambda match: match[0] or b"+", text)


def _checksum(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


class Line(NamedTuple):
    """One line by its number from 1, without its newline: it has a record, a definition, or a problem."""

    number: int
    data: bytes
    record: Record | None
    part: Part = (1, 1)
    problem: str = ""
    defines: str = ""


def names_used(line: bytes) -> set[str]:
    """The definitions that a readable line needs."""
    data = msgspec.json.decode(line)
    if data["schema"] != SCHEMA:
        return set()
    users = [data, data.get("timing") or {}, *plain_of(data.get("static") or {}).values()]
    return {name for user in users for name in user.get("use", ())}


class _Reader:
    """Reads one line after the other, with the definitions of those before."""

    def __init__(self) -> None:
        self.definitions: dict[str, Fields] = {}
        self.bases: Bases = {}

    def read(self, number: int, data: bytes) -> Line:
        as_written = self._read_as_written(number, data)
        if as_written is not None:
            return as_written
        try:
            return self._read_data(number, data, unseal(data))
        except ValueError as error:
            return Line(number, data, None, problem=str(error))
        except RecursionError:
            return Line(number, data, None, problem="its values are nested too deeply to read")

    def _read_as_written(self, number: int, line: bytes) -> Line | None:
        """A line that stands as :func:`encode` wrote it, or an earlier version; None for any other line.

        The text is summed as it stands and decoded once, straight into its form: half the work of the way
        through plain data, which alone says what is wrong with a line.
        """
        text, _, checksum = line.rpartition(CHECKSUM)
        if checksum != b'%08x"}' % zlib.crc32(b"}", zlib.crc32(text)):
            return None
        begins = _APPEND.match(text)
        if begins is None:
            return None
        part = (int(begins[1]), int(begins[2]))
        try:
            if _WHOLE in text:
                return Line(number, line, _RECORD.decode(line), part)
            form = _PACKED.decode(line)
            if form.get("schema") != SCHEMA:
                return None
            return Line(number, line, unpack_record(form, self.definitions, self.bases), part)
        except (ValueError, RecursionError):
            return None

    def _read_data(self, number: int, line: bytes, data: dict[str, Any]) -> Line:
        """Read a line through plain data, slowly, so that errors say what is wrong."""
        if data.get("schema") != SCHEMA:
            return Line(number, line, Record.from_json(data), part_of_line(data))
        if "define" in data:
            name, fields = read_definition(data)
            self.definitions[name] = fields
            return Line(number, line, None, defines=name)
        try:
            form = from_plain(PackedRecord, {**data, "append": part_of_line(data)})
        except ValueError as error:
            raise ValueError(f"not a record: {error}") from None
        return Line(number, line, unpack_record(form, self.definitions, self.bases), part_of_line(data))


def lines(file: Iterable[bytes]) -> Iterator[Line]:
    """Every line of a file. The last one may lack its newline: it counts when its checksum holds."""
    reader = _Reader()
    for number, line in enumerate(file, start=1):
        yield reader.read(number, line.removesuffix(b"\n"))


def split_whole(read: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """(definitions and lines of complete appends, the rest). Half of an append is no group to compare."""
    whole: list[Line] = []
    rest: list[Line] = []
    begun: list[Line] = []
    for line in read:
        if line.defines:
            whole.append(line)
            continue
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
