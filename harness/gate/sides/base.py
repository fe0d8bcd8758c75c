"""Base of a gate: resolves `--against`, and provides its code while the gate runs."""

import os
import re
import shutil
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.catalog.discovery import catalog_elsewhere
from harness.core.case import split_label
from harness.core.errors import SideError, UsageError, nearest
from harness.core.paths import ENTRY, PROJECT
from harness.gate.sides.git import check_out, commit_of, default_commit, path_in_worktree, toplevel
from harness.gate.sides.matching import counterpart_by_name
from harness.gate.sides.side import Side, contains_module, import_root


@dataclass(frozen=True)
class BaseImports:
    """Import path of the base's processes. `catalog` is the candidate's; `trees` maps repository to worktree.

    This harness runs both sides, and may be in the same folder as what it measures. So the import path starts
    with a folder of links: `harness` and `seqsweep` are the running ones, and `impls` and the plugins'
    packages are those of the worktrees. Other folders of the candidate's import path that are in a repository
    with a worktree are taken from the worktree too.
    """

    catalog: Catalog
    trees: Mapping[Path, Path]

    def path(self, scratch: Path) -> tuple[str, ...]:
        """Folders at the start of the base's import path, created below `scratch`."""
        places = (path_in_worktree(Path(entry or "."), self.trees) for entry in _import_path())
        neighbours = (str(place) for place in places if place and place.is_dir())
        return tuple(dict.fromkeys([*link(scratch, self.packages()), *neighbours]))

    def packages(self) -> dict[str, Path]:
        """Entries of the folder of links: each top-level package or module that the base has."""
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
        """Those of `sources` and of all registering modules that the base's commit lacks."""
        roots = self._roots()
        absent: list[str] = []
        for source in dict.fromkeys([*sources, *(module for module, _ in self._sources())]):
            if source.endswith(".py"):
                file = self._at_base(Path(source))
                missing = file and not file.is_file()
            else:
                root = self._at_base(roots[source]) if source in roots else None
                missing = root and not contains_module(root, source)
            if missing:
                absent.append(source)
        return tuple(absent)

    def find_misplaced(self, base: Side) -> tuple[str, str] | None:
        """(name, file) of a registration that the base does not load from its worktree, if there is one."""
        mine = self._registered(self.catalog)
        for name, info in self._registered(base.catalog).items():
            files = [info.file, *([mine[name].file] if name in mine else [])]
            if any(self._at_base(Path(file)) for file in files) and base.tree(info.file) is None:
                return name, info.file
        return None

    def _source(self, source: str) -> str:
        return str((self._at_base(Path(source)) if source.endswith(".py") else None) or source)

    def _at_base(self, place: Path) -> Path | None:
        """The path in the worktree; None for a file that git ignores, which both sides share.

        Files of a virtual environment inside the repository are ignored, for example.
        """
        at_base = path_in_worktree(place, self.trees)
        if at_base is None or at_base.exists() or toplevel(place) in self.trees:
            return at_base
        return None

    @staticmethod
    def _registered(catalog: Catalog) -> dict[str, FamilyInfo | ImplementationInfo]:
        return {**catalog.families, **catalog.implementations}

    def _sources(self) -> list[tuple[str, str]]:
        """(module or path, file) of everything that is registered."""
        return [(info.module, info.file) for info in self._registered(self.catalog).values()]

    def _roots(self) -> dict[str, Path]:
        """The folder on the import path that each importable module came from."""
        roots: dict[str, Path] = {}
        for module, file in self._sources():
            if not module.endswith(".py") and (root := import_root(module, Path(file))):
                roots.setdefault(module, root)
        return roots


def link(scratch: Path, packages: Mapping[str, Path]) -> tuple[str]:
    """Create a folder below `scratch` from which exactly these packages are imported."""
    folder = scratch.resolve() / "path"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, place in packages.items():
        if name == "impls" and not place.exists():  # an empty package hides the candidate's
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


@dataclass(frozen=True)
class Base:
    """A base that is ready to run. `config` is its bench.yaml, or None."""

    side: Side
    config: Path | None


@contextmanager
def base_of(
    against: str | None,
    candidate: Side,
    config_path: Path,
    plugins: Sequence[str],
    scratch: Path,
    *,
    wanted: Collection[str],
) -> Generator[Base]:
    """The base that `--against` names, or the default commit of every repository for None.

    Only repositories with one of the `wanted` implementations are checked out, below `scratch`; the rest of
    the code is the candidate's on both sides. UsageError for a base that does not exist, SideError if it does
    not load or loads from another place.
    """
    if against is not None and not re.fullmatch(r"(git|impl|py):.+", against):
        raise UsageError(f'--against "{against}": write git:REF, impl:NAME or py:INTERPRETER')
    prefix, _, rest = (against or "git:").partition(":")
    if prefix == "impl":
        yield Base(_implementation_side(rest, candidate, wanted), None)
    elif prefix == "py":
        yield Base(_interpreter_side(rest, candidate, plugins, scratch), None)
    else:
        commits, description = chosen_commits(candidate.catalog, wanted, rest or None, config_path)
        with check_out(commits, scratch) as trees:
            imports = BaseImports(candidate.catalog, trees)
            config = path_in_worktree(config_path, trees)
            yield Base(
                _committed_side(imports, candidate, plugins, scratch, description),
                config if config and config.is_file() else None,
            )


def _committed_side(
    imports: BaseImports, candidate: Side, plugins: Sequence[str], scratch: Path, description: str
) -> Side:
    path = imports.path(scratch)
    catalog = _read_catalog(
        description, path, imports.plugins(plugins), candidate.interpreter, imports.absent_sources()
    )
    trees = {str(repo): str(tree) for repo, tree in imports.trees.items()}
    side = Side("base", description, catalog, candidate.interpreter, path, trees)
    if misplaced := imports.find_misplaced(side):
        name, file = misplaced
        raise SideError(
            f"{name} of the base, {description}, loads from {file} instead of its worktree; "
            "uninstall the package that puts this file first on the import path"
        )
    return side


def _interpreter_side(text: str, candidate: Side, plugins: Sequence[str], scratch: Path) -> Side:
    """The base for `py:INTERPRETER`: the candidate's files with another interpreter."""
    interpreter, description = find_interpreter(text, f"--against py:{text}"), f"py:{text}"
    path = link(scratch, BaseImports(candidate.catalog, {}).packages())
    catalog = _read_catalog(description, path, plugins, interpreter)
    known = candidate.catalog.implementations
    for name, info in catalog.implementations.items():
        mine = known.get(name, info)
        if info.module == mine.module and info.module.startswith("impls.") and info.file != mine.file:
            raise SideError(
                f"{name} of {description} loads from {info.file} instead of {mine.file}; uninstall it there"
            )
    return Side("base", description, catalog, interpreter, path)


def find_interpreter(text: str, flag: str) -> str:
    """Executable of a path, a command or a virtual environment's folder. UsageError if there is none.

    Links are not resolved, because Python finds its virtual environment by the link `bin/python` in it.
    """
    place = Path(text).expanduser()
    program = shutil.which(str(place / "bin" / "python" if place.is_dir() else place))
    if program is None:
        raise UsageError(f"{flag}: interpreter not found; name another, or an environment's folder")
    return os.path.abspath(program)  # noqa: PTH100 - pathlib's keeps ..


def _implementation_side(label: str, candidate: Side, wanted: Collection[str]) -> Side:
    families = sorted({name.split("/", 1)[0] for name in wanted})
    counterparts = [counterpart_by_name(candidate.catalog, family, label) for family in families]
    if not any(counterparts):
        known = [info.name for family in families for info in candidate.catalog.of_family(family)]
        name = split_label(label)[0]
        raise UsageError(
            f'--against impl:{label}: no implementation "{name}" of family {" or ".join(families)}'
            f"{nearest(name.rpartition('/')[2], known)}"
        )
    return replace(candidate, name="base", description=f"impl:{label}", implementation=label)


def _read_catalog(
    description: str,
    path: Sequence[str],
    plugins: Sequence[str],
    interpreter: str,
    without: Sequence[str] = (),
) -> Catalog:
    try:
        return catalog_elsewhere(path, plugins, interpreter, without=without)
    except SideError as error:
        raise SideError(f"the base, {description}, does not load: {error}") from None


def chosen_commits(
    catalog: Catalog, wanted: Collection[str], ref: str | None, config_path: Path
) -> tuple[dict[Path, str], str]:
    """(commits by repository, for repositories with a wanted implementation; description of the commits).

    If bench.yaml belongs to another repository than seqsweep, seqsweep's own code is the same on both sides.
    UsageError if there is no repository, if one of them does not have `ref`, or if there is no default.
    """
    files = sorted({catalog.implementations[name].file for name in wanted})
    repositories = sorted({top for file in files if (top := toplevel(Path(file)))})
    if len(repositories) > 1 and toplevel(config_path) != toplevel(PROJECT):
        repositories = [repo for repo in repositories if repo != toplevel(PROJECT)]
    if not repositories:
        problem = "git is not installed" if shutil.which("git") is None else "they are in no git repository"
        raise UsageError(
            f"no base for {', '.join(files[:3])}: {problem}; "
            "commit them to one, or use --against impl:NAME or py:INTERPRETER"
        )
    chosen = [
        (repo, *(default_commit(repo) if ref is None else (commit_of(repo, ref), ref)))
        for repo in repositories
    ]
    shown = [f"{repo.name} {commit[:7]} ({how})" for repo, commit, how in chosen]
    _, commit, how = chosen[0]
    description = f" {', '.join(shown)}" if len(chosen) > 1 else f"{commit[:7]} ({how})"
    return {repo: commit for repo, commit, _ in chosen}, f"git:{description}"
