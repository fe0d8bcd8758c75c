"""The import closure of a module, and its hash: the file and all that it imports but installed packages.

Imports inside functions count, because builders import there, and so do modules that were compiled from
another language. Imports by a computed name do not.
"""

import ast
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

from harness.core.paths import PACKAGE, PROJECT

SUFFIXES = (".py", *EXTENSION_SUFFIXES)
PACKAGES = {"site-packages", "dist-packages"}  # a user's own, and a distribution's
INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib"))


def source_hash(implementation: Path, family: Path) -> str:
    """`closure:…`, a hash of the code that an answer depends on: of two files and of all that they import.

    Other variants of the family are left out, so that adding one leaves old records comparable. Earlier
    versions hashed all files of the family whose names begin with an underscore, and wrote `sha256:…`.
    """
    whole = sha256()
    for file in sorted(closure(implementation, family)):
        whole.update(file.name.encode() + b"\0" + content(file) + b"\0")
    return f"closure:{whole.hexdigest()}"


def alike_in_kind(one: str, other: str) -> bool:
    """Whether two hashes were taken in the same way, so that a difference means another source."""
    return one.partition(":")[0] == other.partition(":")[0]


def closure(*paths: Path) -> set[Path]:
    """The files and every file that they depend on."""
    files, pending = set[Path](), [path.resolve() for path in paths]
    while pending:
        file = pending.pop()
        if file not in files:
            files.add(file)
            pending += _imported_files(file)
    return files


@cache
def content(file: Path) -> bytes:
    """What a file held when this process first asked: all its hashes are of one state of the sources."""
    return file.read_bytes()


def has_changed(file: Path) -> bool:
    """Whether a file holds something else than :func:`content` has said."""
    try:
        return file.read_bytes() != content(file)
    except OSError:
        return True


@cache
def _imported_files(file: Path) -> tuple[Path, ...]:
    try:
        tree = ast.parse(content(file))
    except (OSError, SyntaxError, ValueError):  # whoever loads it says what is wrong with it
        return ()
    # In the order in which Python would look: the first folder that holds a name decides, so that a file of
    # a worktree is not mixed with its namesake of the working tree, and both trees' hashes can be compared.
    roots = list(dict.fromkeys([file.parent, home_of(file), *map(Path, _search_path()), PROJECT, Path.cwd()]))
    imported: dict[Path, None] = {}
    for name, level in dict.fromkeys(_names(tree)):
        parts = tuple(name.split("."))
        if not level and parts[0] in {PACKAGE.name, "seqsweep"}:  # this harness drives every tree
            continue
        folders = [file.parents[level - 1]] if level else roots
        root = next((folder for folder in folders if _holds(folder, parts[0])), None)
        if root is None and not level:
            root = _import_root(parts[0])
        if root is not None:  # a package's own file runs before the modules in it
            lengths = range(1, len(parts) + 1)
            found = (_file_of(root, parts[:length]) for length in lengths)
            imported |= dict.fromkeys(path for path in found if path)
    return tuple(path for path in imported if not _is_hashed_elsewhere(path))


def home_of(file: Path) -> Path:
    """The folder that a package's own absolute imports start from."""
    return next(folder for folder in file.parents if not (folder / "__init__.py").is_file())


def import_name(file: Path) -> str:
    """The name by which a file is imported from its home: `impls.mask.family`."""
    return ".".join(file.relative_to(home_of(file)).with_suffix("").parts)


@cache
def _import_root(name: str) -> Path | None:
    """The folder that a top-level name would be imported from, if an import hook or `sys.path` knows it.

    A package that is installed as a link to its sources is found so, and no version covers its edits.
    """
    if name in sys.stdlib_module_names:
        return None
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # whoever imports it says what is wrong with it
        return None
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    file = Path(spec.origin)
    return file.parents[1] if spec.submodule_search_locations else file.parent


@cache
def _is_hashed_elsewhere(file: Path) -> bool:
    """Whether a file is an installed package's, which a version covers."""
    if PROJECT / "impls" in file.parents:
        return False
    return any(folder in file.parents for folder in INSTALLED) or not PACKAGES.isdisjoint(file.parts)


def _search_path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def _names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(dotted name, level) of every import; a name imported from a package may be a module of its own."""
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if base:
                yield base, node.level
            yield from ((f"{base}.{alias.name}".lstrip("."), node.level) for alias in node.names)


def _statements(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a block and of all blocks inside it; no import is deeper than that."""
    for node in block:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, name, ()))


@cache
def _holds(root: Path, name: str) -> bool:
    return (root / name).is_dir() or any((root / f"{name}{suffix}").is_file() for suffix in SUFFIXES)


@cache
def _file_of(root: Path, parts: tuple[str, ...]) -> Path | None:
    path = root.joinpath(*parts)
    for candidate in (*(path.with_name(f"{path.name}{suffix}") for suffix in SUFFIXES), path / "__init__.py"):
        if candidate.is_file():
            return candidate.resolve()
    return None
