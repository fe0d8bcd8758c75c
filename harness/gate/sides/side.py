"""Side of a gate: one of the two states of the code that it compares."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.catalog.catalog import Catalog, ImplementationInfo


@dataclass(frozen=True)
class Side:
    """One side. `name` is candidate or base; `description` names the state of the code.

    `path` are the first folders on the import path of its processes, which `interpreter` starts.
    `trees` maps repositories to the worktrees that replace them; it is empty for the working tree.
    `implementation` is the NAME of `--against impl:NAME`, as typed.
    """

    name: str
    description: str
    catalog: Catalog
    interpreter: str = sys.executable
    path: tuple[str, ...] = ()
    trees: Mapping[str, str] = field(default_factory=dict[str, str])
    implementation: str | None = None

    def tree(self, file: str) -> str | None:
        """The worktree that contains a file."""
        place = Path(file).resolve()
        return next((tree for tree in self.trees.values() if place.is_relative_to(tree)), None)

    def within(self, info: ImplementationInfo) -> str | None:
        """The folder that the implementation's module must be loaded from; None if unknown."""
        by_path = info.module.endswith(".py")
        if tree := self.tree(info.module if by_path else info.file):
            return tree
        root = Path(info.module).resolve().parent if by_path else import_root(info.module, Path(info.file))
        return str(root) if root else None


def import_root(module: str, file: Path) -> Path | None:
    """The folder on the import path that `module` was imported from; `file` is a file that it registers."""
    return next((folder for folder in file.parents if contains_module(folder, module)), None)


def contains_module(folder: Path, module: str) -> bool:
    """Whether a dotted name is a module or a package below this folder."""
    place = folder.joinpath(*module.split("."))
    return (place / "__init__.py").is_file() or Path(f"{place}.py").is_file()
