"""The identity of a file that a case's workload names: its path and the hash of its content.

A case's id holds it, `distribution=scores.npz#1a2b3c4d5e6f`: a changed file is another case.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_./~+-]+")  # what ids of cases can hold
_HASH_DIGITS = 12


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
