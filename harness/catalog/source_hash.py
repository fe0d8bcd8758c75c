"""The import closure of a module, and its hash: the file and all that it imports but installed packages.

Imports inside functions count, because builders import there. Imports by a computed name do not.
"""

from __future__ import annotations

import ast
import os
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from harness.core.paths import PROJECT

INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib"))


@cache
def digest(path: Path) -> str:
    """A hash of the file at `path` and of every file it depends on, in this process's lifetime."""
    whole = sha256()
    for file in sorted(closure(path)):
        whole.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return f"sha256:{whole.hexdigest()}"


def closure(path: Path) -> set[Path]:
    files, pending = set[Path](), [path.resolve()]
    while pending:
        file = pending.pop()
        if file not in files:
            files.add(file)
            pending += _imported_files(file)
    return files


@cache
def _imported_files(file: Path) -> tuple[Path, ...]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # whoever loads it says what is wrong with it
        return ()
    roots = [file.parent, _home(file), PROJECT, Path.cwd(), *map(Path, _search_path())]
    imported: list[Path] = []
    for name, level in _names(tree):
        folders = [file.parents[level - 1]] if level else roots
        parts = name.split(".")
        for length in range(1, len(parts) + 1):  # a package's own file runs before what lies in it
            imported += [path for root in folders if (path := _file_of(root, parts[:length]))]
    return tuple(path for path in imported if not _is_hashed_elsewhere(path))


def _home(file: Path) -> Path:
    """The folder that a package's own absolute imports start from."""
    return next(folder for folder in file.parents if not (folder / "__init__.py").is_file())


def _is_hashed_elsewhere(file: Path) -> bool:
    """Whether a file is covered otherwise: the harness by its own hash, installed packages by a version."""
    if PROJECT / "impls" in file.parents:
        return False
    return any(folder in file.parents for folder in (PROJECT / "harness", *INSTALLED))


def _search_path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(dotted name, level) of every import; a name imported from a package may be a module of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if base:
                yield base, node.level
            yield from ((f"{base}.{alias.name}".lstrip("."), node.level) for alias in node.names)


def _file_of(root: Path, parts: Sequence[str]) -> Path | None:
    path = root.joinpath(*parts)
    for candidate in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate.resolve()
    return None
