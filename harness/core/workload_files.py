"""Files that a workload names: captured tensors instead of a distribution, and tables of document lengths.

A case's id has path and content hash, `distribution=scores.npz#1a2b3c4d5e6f`: new content means a new id.
"""

import csv
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from harness.core.regular_file import open_regular

_NAME = re.compile(r"[A-Za-z0-9_./~+-]+")  # characters that are allowed in case ids
_HASH_DIGITS = 12
SUFFIXES = (".npz", ".safetensors")
FORMS = (("tokens",), ("tokens", "documents"), ("shortest", "longest", "documents"))
MOST_BYTES = 1 << 20  # of a file: 64Ki lines, more than a distribution needs
LONGEST = 1 << 30  # tokens of a document
MOST_DOCUMENTS = 1 << 50  # of a line, so that sums are exact


def path_of(identity: str) -> Path:
    """The file's path; a relative path starts in the command's folder."""
    return Path(identity.partition("#")[0]).expanduser()


def identify(text: str) -> str:
    """Add a file's hash to its name: `a.npz` → `a.npz#1a2b3c4d5e6f`.

    ValueError if the file cannot be read, its name is not allowed in ids, or a given hash differs.
    """
    name, _, given = text.partition("#")
    if not _NAME.fullmatch(name):
        raise ValueError(f'"{name}" is part of case ids; rename it, with only letters, digits and ._/~+-')
    try:
        with open_regular(path_of(name)) as file:
            digest = hashlib.sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ValueError(
            f"{name} cannot be read ({error.strerror or error}); copy it to every measuring machine, and use "
            "an absolute path, or one relative to the command's folder"
        ) from None
    found = digest.hexdigest()[:_HASH_DIGITS]
    if given and given != found:
        raise ValueError(
            f"{name} has changed: it is #{found} now, not #{given}; restore it, or name it without its hash"
        )
    return f"{name}#{found}"


identify_captured = lru_cache(maxsize=64)(identify)  # of large files


def is_captured(text: object) -> bool:
    """Whether a value names a file of tensors, with or without its hash."""
    return isinstance(text, str) and text.partition("#")[0].endswith(SUFFIXES)


class LengthBin(NamedTuple):
    """A bin of a table: `documents` of `shortest` to `longest` tokens, both ends included."""

    shortest: int
    longest: int
    documents: int


def is_table(text: str) -> bool:
    """Whether a value names a CSV file, with or without its hash."""
    return text.partition("#")[0].endswith(".csv")


def identify_table(text: str) -> str:
    """Like `identify`. ValueError also for a file that is not a table."""
    identity = identify(text)
    _parse_file(identity)
    return identity


@lru_cache(maxsize=16)
def read_table(identity: str) -> tuple[LengthBin, ...]:
    """The lines of the file with an identity from :func:`identify_table`. ValueError as there."""
    return _parse_file(identify(identity))


def _parse_file(identity: str) -> tuple[LengthBin, ...]:
    name = identity.partition("#")[0]
    with open_regular(path_of(name)) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name} is larger than 1 MiB; count equal lengths in lines of tokens,documents")
    return parse_table(name, content)


def parse_table(name: str, content: bytes) -> tuple[LengthBin, ...]:
    """The lines of a file with this name. ValueError names the line and the remedy."""
    lines = csv.reader(content.decode("utf-8-sig", "replace").splitlines())
    rows = [(f"{name}:{lines.line_num}", tuple(map(str.strip, row))) for row in lines if any(row)]
    forms = " or ".join(map(",".join, FORMS))
    if rows and rows[0][1] not in FORMS:
        raise ValueError(f'{rows[0][0]}: the first line is "{",".join(rows[0][1])}"; write {forms}')
    bins = tuple(_bin(place, rows[0][1], words) for place, words in rows[1:])
    if not sum(entry.documents for entry in bins):
        raise ValueError(f"{name} has no documents; write {forms}, and then lines of numbers")
    return bins


def _bin(place: str, columns: tuple[str, ...], words: tuple[str, ...]) -> LengthBin:
    written = dict(zip(columns, words, strict=False))
    longest = written.get("longest", written.get("tokens", ""))
    numbers = (written.get("shortest", longest), longest, written.get("documents", "1"))
    if len(words) == len(columns) and all(w.isascii() and w.isdigit() and len(w) < 20 for w in numbers):
        found = LengthBin(*map(int, numbers))
        if found.shortest <= found.longest <= LONGEST and found.longest and found.documents <= MOST_DOCUMENTS:
            return found._replace(shortest=max(found.shortest, 1))
    raise ValueError(
        f'{place}: "{",".join(words)[:60]}" is not {",".join(columns)}; write whole numbers, shortest before '
        f"longest, at most {LONGEST} tokens and {MOST_DOCUMENTS} documents"
    )
