"""Source hash of a module's import closure: the file and all that it imports, except installed packages.

It includes imports inside functions, because builders import there, extension modules, and for each module
the TOML file of its name. It does not include imports by a computed name.
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
    """`closure:…`, the hash of the import closure of an implementation's and its family's file.

    Other variants of the family are not included, so that old records stay comparable when one is added.
    Earlier versions hashed all files of the family with a leading underscore, and wrote `sha256:…`.
    """
    whole = sha256()
    for file in sorted(closure(implementation, family)):
        whole.update(file.name.encode() + b"\0" + content(file) + b"\0")
    return f"closure:{whole.hexdigest()}"


def same_hash_kind(one: str, other: str) -> bool:
    """Whether two hashes are of one kind (`closure:`, `sha256:`), so that they can be compared."""
    return one.partition(":")[0] == other.partition(":")[0]


def closure(*paths: Path) -> set[Path]:
    """The files, and all files that they import, directly or not."""
    files, pending = set[Path](), [path.resolve() for path in paths]
    while pending:
        file = pending.pop()
        if file not in files:
            files.add(file)
            pending += _imported_files(file)
    return files


@cache
def content(file: Path) -> bytes:
    """A file's content when this process first read it, so that all hashes are of the same state."""
    return file.read_bytes()


def has_changed(file: Path) -> bool:
    """Whether a file differs from its :func:`content`."""
    try:
        return file.read_bytes() != content(file)
    except OSError:
        return True


@cache
def _imported_files(file: Path) -> tuple[Path, ...]:
    try:
        tree = ast.parse(content(file))
    except (OSError, SyntaxError, ValueError):  # importing the file will report the error
        return ()
    # In Python's search order, in which the first folder with the name wins. Then a worktree's file imports
    # the worktree's modules, not the working tree's, and hashes of both trees are comparable.
    roots = list(dict.fromkeys([file.parent, home_of(file), *map(Path, _search_path()), PROJECT, Path.cwd()]))
    imported: dict[Path, None] = dict.fromkeys(filter(Path.is_file, [file.with_suffix(".toml")]))
    own = import_name(file)  # the __init__ files of its packages run before it
    for name, level in dict.fromkeys([*_names(tree), *([] if own.startswith("impls.") else [(own, 0)])]):
        parts = tuple(name.split("."))
        if not level and parts[0] in {PACKAGE.name, "seqsweep"}:  # this harness drives every tree
            continue
        folders = [file.parents[level - 1]] if level else roots
        root = next((folder for folder in folders if _holds(folder, parts[0])), None)
        if root is None and not level:
            root = _import_root(parts[0])
        if root is not None:  # a package's own file runs before the modules in it
            lengths = range(1, len(parts) + 1)
            paths = (_file_of(root, parts[:length]) for length in lengths)
            imported |= dict.fromkeys(path for path in paths if path)
    return tuple(path for path in imported if not _is_hashed_elsewhere(path))


def home_of(file: Path) -> Path:
    """The folder that a package's own absolute imports start from."""
    return next(folder for folder in file.parents if not (folder / "__init__.py").is_file())


def import_name(file: Path) -> str:
    """The name by which a file is imported from its home, for example `impls.mask.family`."""
    return ".".join(file.relative_to(home_of(file)).with_suffix("").parts).removesuffix(".__init__")


@cache
def _import_root(name: str) -> Path | None:
    """The folder that a top-level name would be imported from, by import hooks and `sys.path`.

    This finds editable installs, whose edits are not covered by a version.
    """
    if name in sys.stdlib_module_names:
        return None
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # importing it will report the error
        return None
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    file = Path(spec.origin)
    return file.parents[1] if spec.submodule_search_locations else file.parent


@cache
def _is_hashed_elsewhere(file: Path) -> bool:
    """Whether a file belongs to an installed package, whose version is recorded."""
    if PROJECT / "impls" in file.parents:
        return False
    return any(folder in file.parents for folder in INSTALLED) or not PACKAGES.isdisjoint(file.parts)


def _search_path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def _names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(dotted name, level) of every import; a name imported from a package may be a module."""
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if base:
                yield base, node.level
            yield from ((f"{base}.{alias.name}".lstrip("."), node.level) for alias in node.names)


def _statements(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a block and of all nested blocks: imports are statements, not expressions."""
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
