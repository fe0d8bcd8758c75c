"""Definitions: what the records of a file share, in lines of their own, each named after its content.

A definition stands before the first line that uses it. Its name is a hash of what it gives, so that one that
was damaged is missing, and never another one: the lines that use it are named, and all others are read.
"""

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.core.case import label
from harness.core.plain_data import digest, from_plain
from harness.core.record import Record
from harness.store.packing.packed_record import (
    FORMS,
    MEASURED,
    RECORD,
    SCHEMA,
    STATIC,
    TIMING,
    pack_record,
    plain_of,
    squeeze_plain,
)

DEFINITION_BYTES, NAME_BYTES = 85, 15  # of a line around what it defines, and of each use
LEAST_BYTES = 2 * NAME_BYTES
MOST_NAMES = 4096  # remembered: in a long run what repeats comes again soon
# Fields that repeat together: in a run, for an implementation, at a workload, for a case.
RECORD_GROUPS = (
    ("run", "fingerprint", "environment", "seed", "device", "mode", "side"),
    ("family", "implementation", "semantics", "bound", "options", "framework", "source", "baseline"),
    ("workload",),
    ("cost",),
    ("status", "correctness", "checks", "facts", "expected"),
)
METHOD = ("cache", "inner", "method", "stopped")
TEXTS = ("unavailable", "flops_source", "fits", "warnings", "body_only")


class Shared(NamedTuple):
    """Fields that may have a definition of this `name`, and the object of this `kind` that holds them."""

    holder: dict[str, Any]
    kind: str
    fields: dict[str, Any]
    name: str
    size: int  # in bytes


class Packer:
    """The packed records of a file that one process writes, and the definitions that they need.

    Fields that repeat become a definition where that is shorter than writing them out as often as they have
    come, or will: `cases` says by an implementation's label how many records of it the file will have. A
    process that goes on with a file, or has written MOST_NAMES, defines again what it needs: the same name
    with the same content is no contradiction.
    """

    def __init__(self, cases: Mapping[str, int] | None = None) -> None:
        self._cases = cases or {}
        self._seen = Counter[str]()
        self._defined: set[str] = set()
        self._pending = Counter[str](), set[str]()

    def pack(self, records: Sequence[Record]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """(definitions that are to be written before, the records), as plain data.

        ValueError names the case of a record that holds a value without a JSON form.
        """
        lines: list[dict[str, Any]] = []
        parts: list[list[Shared]] = []
        for record in records:
            try:
                line = pack_record(record)
                msgspec.json.encode(line)
                lines.append(line)
                parts.append(list(_parts(line)))
            except (TypeError, ValueError, RecursionError) as error:
                raise ValueError(f"{record.case} cannot be stored: {error}") from None
        counts = Counter(part.name for each in parts for part in each)
        definitions: dict[str, dict[str, Any]] = {}
        for part in (part for each in parts for part in each):
            uses = max(self._seen[part.name] + counts[part.name], self._count_expected(part.fields))
            if part.name not in self._defined and not _pays(uses, part.size):
                continue
            if part.name not in self._defined:
                text = squeeze_plain(part.fields) if part.kind == STATIC else part.fields
                value = {"squeezed": text} if isinstance(text, str) else text
                line = {"define": part.name, "of": part.kind, "schema": SCHEMA, "value": value}
                definitions[part.name] = line
            for field in part.fields:
                del part.holder[field]
            part.holder.setdefault("use", []).append(part.name)
        for line in lines:
            if "static" in line:
                line["static"] = squeeze_plain(line["static"])
        self._pending = counts, set(definitions)
        return list(definitions.values()), lines

    def _count_expected(self, fields: Mapping[str, Any]) -> int:
        """How many records of the file have these fields, as far as that is known beforehand."""
        if "implementation" not in fields:
            return 0
        return self._cases.get(label(fields["implementation"], fields.get("options", {})), 0)

    def mark_written(self) -> None:
        """Take note that what was packed last is in the file now."""
        if len(self._seen) > MOST_NAMES:
            self._seen, self._defined = Counter(), set()
        seen, defined = self._pending
        self._seen += seen
        self._defined |= defined


def _parts(line: dict[str, Any]) -> Iterator[Shared]:
    """The groups of fields of a line that are long enough for a definition."""
    places: list[tuple[dict[str, Any], str, tuple[str, ...]]] = []
    places += [(line, RECORD, names) for names in RECORD_GROUPS]
    if "timing" in line:
        places.append((line["timing"], TIMING, METHOD))
    for static in line.get("static", {}).values():
        rest = tuple(name for name in static if name not in (*TEXTS, *MEASURED))
        places += [(static, STATIC, TEXTS), (static, STATIC, rest)]
    for holder, kind, names in places:
        part = {name: holder[name] for name in names if name in holder}
        if part and (size := len(msgspec.json.encode(part))) >= LEAST_BYTES:
            yield Shared(holder, kind, part, name_of(kind, part), size)


def _pays(uses: int, size: int) -> bool:
    """Whether so many uses and their definition are shorter than the fields as often."""
    return uses * (size - NAME_BYTES) > size + DEFINITION_BYTES


def name_of(kind: str, part: Any) -> str:
    return urlsafe_b64encode(bytes.fromhex(digest([kind, part]))[:9]).decode()


def read_definition(data: Any) -> tuple[str, dict[str, Any]]:
    """(name, the fields that it gives) of a definition's line. ValueError where its name is another's."""
    name, kind, value = (data.get(key) for key in ("define", "of", "value"))
    if kind not in tuple(FORMS) or not isinstance(value, dict):
        raise ValueError("not a definition: it defines nothing")
    if "squeezed" in value:
        value = plain_of(value["squeezed"])
    if name != name_of(kind, value):
        raise ValueError("not a definition: its name is not that of its content")
    return name, from_plain(FORMS[kind], value)
