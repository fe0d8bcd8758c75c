"""Import path of the base's processes: worktrees in place of the working tree.

This harness drives both sides, and may lie in the same folder as what it measures. So a folder of
links goes in front of the import path: `harness` and `seqsweep` are the running ones, `impls` and the
plugins' packages are those of the worktrees. Other folders of the candidate's import path that lie in a
repository with a worktree (a plugin's neighbours) are taken from the worktree too.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.core.paths import ENTRY, PROJECT
from harness.gate.sides.git import toplevel
from harness.gate.sides.side import Side, holds, import_root
from harness.gate.sides.worktrees import path_in_worktree


@dataclass(frozen=True)
class BaseImports:
    """`catalog` is the candidate's; `trees` maps repositories to their worktrees."""

    catalog: Catalog
    trees: Mapping[Path, Path]

    def path(self, scratch: Path) -> tuple[str, ...]:
        """The folders in front of the base's import path, made below `scratch`."""
        places = (path_in_worktree(Path(entry or "."), self.trees) for entry in _import_path())
        neighbours = (str(place) for place in places if place and place.is_dir())
        return tuple(dict.fromkeys([*link(scratch, self.packages()), *neighbours]))

    def packages(self) -> dict[str, Path]:
        """The entries of the folder of links: each top-level package or module, where the base has it."""
        places = {"impls": PROJECT / "impls"}
        for module, root in self._roots().items():
            place = _top(root, module)
            at_base = self._at_base(place)
            if place.name == "impls":
                places[place.name] = at_base or place
            elif at_base and at_base.exists():
                places[place.name] = at_base
        return {**places, "harness": PROJECT / "harness", "seqsweep": ENTRY / "seqsweep"}

    def plugins(self, sources: Sequence[str]) -> tuple[str, ...]:
        """The plugins' sources at the base, without those that it lacks."""
        absent = self.absent_sources(sources)
        return tuple(self._source(source) for source in sources if source not in absent)

    def absent_sources(self, sources: Sequence[str] = ()) -> tuple[str, ...]:
        """Of `sources` and of all registering modules, those that the base's commit lacks."""
        roots = self._roots()
        absent: list[str] = []
        for source in dict.fromkeys([*sources, *(module for module, _ in self._sources())]):
            if source.endswith(".py"):
                file = self._at_base(Path(source))
                missing = file and not file.is_file()
            else:
                root = self._at_base(roots[source]) if source in roots else None
                missing = root and not holds(root, source)
            if missing:
                absent.append(source)
        return tuple(absent)

    def find_misplaced(self, base: Side) -> tuple[str, str] | None:
        """(name, file) of a registration that the base does not load from its worktree, if there is one."""
        pairs = (
            (base.catalog.families, self.catalog.families),
            (base.catalog.implementations, self.catalog.implementations),
        )
        for theirs, mine in pairs:
            for name, info in theirs.items():
                files = [info.file, *([mine[name].file] if name in mine else [])]
                belongs = any(self._at_base(Path(file)) for file in files)
                if belongs and base.tree(info.file) is None:
                    return name, info.file
        return None

    def _source(self, source: str) -> str:
        return str((self._at_base(Path(source)) if source.endswith(".py") else None) or source)

    def _at_base(self, place: Path) -> Path | None:
        """As :func:`path_in_worktree`, but None for a file that git ignores, which both sides share.

        A virtual environment inside the repository has such files.
        """
        at_base = path_in_worktree(place, self.trees)
        if at_base is None or at_base.exists() or toplevel(place) in self.trees:
            return at_base
        return None

    def _sources(self) -> list[tuple[str, str]]:
        """(module or path, file) of everything that is registered."""
        infos = [*self.catalog.families.values(), *self.catalog.implementations.values()]
        return [(info.module, info.file) for info in infos]

    def _roots(self) -> dict[str, Path]:
        """The folder on the import path that each importable module came from."""
        roots: dict[str, Path] = {}
        for module, file in self._sources():
            if not module.endswith(".py") and (root := import_root(module, Path(file))):
                roots.setdefault(module, root)
        return roots


def link(scratch: Path, packages: Mapping[str, Path]) -> tuple[str]:
    """A folder below `scratch` from which exactly these packages are imported."""
    folder = scratch.resolve() / "path"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, place in packages.items():
        if name == "impls" and not place.exists():  # an empty package keeps the candidate's from being found
            (folder / name).mkdir()
            (folder / name / "__init__.py").touch()
        else:
            (folder / name).symlink_to(place)
    return (str(folder),)


def _top(root: Path, module: str) -> Path:
    name = module.split(".", 1)[0]
    file = root / f"{name}.py"
    return file if file.is_file() and not (root / name).is_dir() else root / name


def _import_path() -> list[str]:
    """The import path of the candidate's processes."""
    return [str(Path.cwd()), *os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path]
