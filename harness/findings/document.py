"""A findings document as data: sections of parts. Empty table cells have a kind and a reason."""

from dataclasses import dataclass
from typing import NamedTuple


class TableCell(NamedTuple):  # a run may have 100,000 cells, and a frozen dataclass takes twice the memory
    """A cell of a table.

    `empty` tells why there is no figure: a status of the case, `no interval`, `no baseline`, `not compiled`,
    `not given` or `no device`. `reason` is the explanation in a sentence.
    """

    text: str = ""
    empty: str = ""
    reason: str = ""


@dataclass(frozen=True)
class FindingsTable:
    """Rows of cells. Each row's last cell has the short hashes of its records."""

    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart: its file name, SVG and alternative text."""

    name: str
    svg: bytes
    text: str


@dataclass(frozen=True)
class Part:
    """Part of a section, on one suite, or on all for an empty `suite`. `lead` is printed first, in bold."""

    suite: str = ""
    heading: str = ""
    lead: str = ""
    sentences: tuple[str, ...] = ()
    table: FindingsTable | None = None
    picture: Picture | None = None
    command: str = ""


@dataclass(frozen=True)
class Section:
    """Section of the document; `key` names its block in a Markdown file: `<!-- seqsweep:verdict -->`."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Document:
    """Findings document: its sections in order."""

    sections: tuple[Section, ...]

    @property
    def pictures(self) -> dict[str, bytes]:
        """SVG charts by file name."""
        parts = [part for section in self.sections for part in section.parts]
        return {part.picture.name: part.picture.svg for part in parts if part.picture is not None}
