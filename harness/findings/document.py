"""A findings document as data: sections of parts, whose tables show empty places with kind and reason."""

from dataclasses import dataclass
from typing import NamedTuple


class Slot(NamedTuple):  # a run has hundreds of thousands: a frozen dataclass takes twice the memory
    """A place of a table.

    `empty` is the kind of emptiness where there is no figure: a status of the case, `no interval`, `no
    baseline`, `not compiled`, `not given` or `no device`. `reason` says it in a sentence.
    """

    text: str = ""
    empty: str = ""
    reason: str = ""


@dataclass(frozen=True)
class FindingsTable:
    """Rows of places. Each row's last place names the records that it rests on, by their short hashes."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Slot, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart: the name of its file, the SVG, and its alternative text."""

    name: str
    svg: bytes
    says: str


@dataclass(frozen=True)
class Part:
    """The part of a section on one suite, or (`suite` empty) on everything. `lead` is to be read first."""

    suite: str = ""
    heading: str = ""
    lead: str = ""
    sentences: tuple[str, ...] = ()
    table: FindingsTable | None = None
    picture: Picture | None = None
    command: str = ""


@dataclass(frozen=True)
class Section:
    """A section of the document; `key` names its block in a Markdown file: `<!-- seqsweep:verdict -->`."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Document:
    """The sections in the order of reading."""

    sections: tuple[Section, ...]

    @property
    def pictures(self) -> dict[str, bytes]:
        """Every chart by the name of its file."""
        parts = [part for section in self.sections for part in section.parts]
        return {part.picture.name: part.picture.svg for part in parts if part.picture is not None}
