"""Files that a workload names: captured tensors in place of a distribution, and tables of document lengths.

A case's id holds path and content hash, `distribution=scores.npz#1a2b3c4d5e6f`: changed, it is another.
"""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from harness.core.regular_file import open_regular

_NAME = re.compile(r"[A-Za-z0-9_./~+-]+")  # what ids of cases can hold
_HASH_DIGITS = 12
SUFFIXES = (".npz", ".safetensors")
_PIECE = 1 << 20
FORMS = (("tokens",), ("tokens", "documents"), ("shortest", "longest", "documents"))
MOST_BYTES = 1 << 20  # of a file: 64Ki lines, and more than a distribution needs
LONGEST = 1 << 30  # tokens of a document
MOST_DOCUMENTS = 1 << 50  # of a line: sums of them stay exact


def path_of(identity: str) -> Path:
    """The file; a relative path begins in the folder that the command was started in."""
    return Path(identity.partition("#")[0]).expanduser()


def identify(text: str, hash_content: Callable[[str], Any]) -> str:
    """`a.npz` → `a.npz#1a2b3c4d5e6f`, of the digest that `hash_content` makes of the file of that name.

    ValueError where its name cannot stand in an id, and where a hash is given that its content does not have.
    """
    name, _, given = text.partition("#")
    if not _NAME.fullmatch(name):
        raise ValueError(f'"{name}" stands in ids of cases; rename it, with letters, digits and ._/~+- only')
    found = hash_content(name).hexdigest()[:_HASH_DIGITS]
    if given and given != found:
        raise ValueError(
            f"{name} has changed: it is #{found} now, not #{given}; restore it, or name it without its hash"
        )
    return f"{name}#{found}"


def is_captured(text: object) -> bool:
    """Whether a value names a file of tensors, with or without its hash."""
    return isinstance(text, str) and text.partition("#")[0].endswith(SUFFIXES)


@lru_cache(maxsize=64)
def identify_captured(text: str) -> str:
    """`a.npz` → `a.npz#1a2b3c4d5e6f`. ValueError as `identify`, and where the file cannot be read."""
    return identify(text, _hash_content)


def _hash_content(name: str) -> Any:
    digest = hashlib.sha256()
    try:
        with open_regular(path_of(name)) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise ValueError(
            f"{name} cannot be read: {error.strerror or error}; every machine that measures needs it, by an "
            "absolute path, or from the folder that the command starts in"
        ) from None
    return digest


class LengthBin(NamedTuple):
    """A bin of a table: `documents` of `shortest` to `longest` tokens, both ends included."""

    shortest: int
    longest: int
    documents: int


def is_table(text: str) -> bool:
    """Whether a value names a CSV file, with or without its hash."""
    return text.partition("#")[0].endswith(".csv")


def identify_table(text: str) -> str:
    """`mine.csv` → `mine.csv#1a2b3c4d5e6f`. ValueError as `identify`, and for a file that is no table."""
    identity = identify(text, lambda name: hashlib.sha256(_read(name)))
    _parse_file(identity)
    return identity


@lru_cache(maxsize=16)
def read_table(identity: str) -> tuple[LengthBin, ...]:
    """The lines of the file that :func:`identify_table` gave this identity. ValueError as there."""
    return _parse_file(identify_table(identity))


def _parse_file(identity: str) -> tuple[LengthBin, ...]:
    name = identity.partition("#")[0]
    return parse_table(name, _read(name))


def _read(name: str) -> bytes:
    try:
        with open_regular(path_of(name)) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}; name a CSV file") from None
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name} has more than 1 MiB; count equal lengths in lines of tokens,documents")
    return content


def parse_table(name: str, content: bytes) -> tuple[LengthBin, ...]:
    """The lines of a file called `name`. ValueError names the line and the remedy."""
    lines = [
        (f"{name}:{number}", tuple(cell.strip().strip('"') for cell in line.split(",")))
        for number, line in enumerate(content.decode("utf-8-sig", "replace").splitlines(), 1)
        if line.strip()
    ]
    forms = " or ".join(map(",".join, FORMS))
    if lines and lines[0][1] not in FORMS:
        raise ValueError(f'{lines[0][0]}: the first line is "{",".join(lines[0][1])}"; write {forms}')
    bins = tuple(_bin(place, lines[0][1], words) for place, words in lines[1:])
    if not sum(entry.documents for entry in bins):
        raise ValueError(f"{name} has no document; write {forms}, and below it a line of numbers each")
    return bins


def _bin(place: str, columns: tuple[str, ...], words: tuple[str, ...]) -> LengthBin:
    if len(words) != len(columns):
        raise ValueError(f"{place}: {len(words)} values, not {len(columns)}; write {','.join(columns)}")
    numbers = dict(
        zip(columns, (_number(place, *pair) for pair in zip(columns, words, strict=True)), strict=True)
    )
    shortest = numbers.get("shortest", numbers.get("tokens", 0))
    longest = numbers.get("longest", shortest)
    if longest < shortest:
        raise ValueError(f"{place}: longest {longest} is less than shortest {shortest}; swap them")
    if longest < 1:
        raise ValueError(f"{place}: a document has at least 1 token; leave the line out")
    return LengthBin(max(shortest, 1), longest, numbers.get("documents", 1))


def _number(place: str, column: str, word: str) -> int:
    most = MOST_DOCUMENTS if column == "documents" else LONGEST
    if not (word.isascii() and word.isdigit()) or len(word) > 19 or int(word) > most:
        raise ValueError(
            f'{place}: {column} "{word[:24]}" is no whole number up to {most}; write digits only'
        )
    return int(word)
