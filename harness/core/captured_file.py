"""Captured inputs: a file of tensors that stands for a distribution, called by its path and its content.

A case's id holds the file's hash, `distribution=scores.npz#1a2b3c4d5e6f`: a changed file is another case.
"""

import hashlib
import re
from functools import lru_cache
from pathlib import Path

from harness.core.regular_file import open_regular

SUFFIXES = (".npz", ".safetensors")
_NAME = re.compile(r"[A-Za-z0-9_./~+-]+")
_HASH_DIGITS = 12
_PIECE = 1 << 20


def is_captured(text: object) -> bool:
    """Whether a value names a file of tensors, with or without its hash."""
    return isinstance(text, str) and text.partition("#")[0].endswith(SUFFIXES)


def path_of(identity: str) -> Path:
    """The file; a relative path begins in the folder that the command was started in."""
    return Path(identity.partition("#")[0]).expanduser()


@lru_cache(maxsize=64)
def identify_captured(text: str) -> str:
    """`scores.npz` → `scores.npz#1a2b3c4d5e6f`, by the SHA-256 of the whole file.

    ValueError for a file that cannot be read here, and where the hash is given and is another's.
    """
    name, _, given = text.partition("#")
    if not _NAME.fullmatch(name):
        raise ValueError(f'"{name}" stands in ids of cases; rename it, with letters, digits and ._/~+- only')
    try:
        with open_regular(path_of(name)) as file:
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise ValueError(
            f"{name} cannot be read: {error.strerror or error}; every machine that measures needs it, by an "
            "absolute path, or from the folder that the command starts in"
        ) from None
    found = digest.hexdigest()[:_HASH_DIGITS]
    if given and given != found:
        raise ValueError(
            f"{name} has changed: it is #{found} now, not #{given}; restore it, or name it without its hash"
        )
    return f"{name}#{found}"
