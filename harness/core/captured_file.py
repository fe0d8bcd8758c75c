"""Captured inputs: a file of tensors in place of a distribution, identified by its path and content hash."""

import hashlib
from functools import lru_cache
from typing import Any

from harness.core.file_identity import identify, path_of
from harness.core.regular_file import open_regular

SUFFIXES = (".npz", ".safetensors")
_PIECE = 1 << 20


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
