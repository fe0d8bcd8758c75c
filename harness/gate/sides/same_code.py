"""Cases whose code is the same on both sides: the change cannot affect them, so they are not measured.

A case has the same code if the sources of its implementation, of its family and of everything that the two
import are equal (`catalog.source_hash`), with the same options, workload and interpreter, hence the same
installed packages. The harness itself does not count: one harness drives both sides.

The hash follows imports only, but code is also read as data: kernels compiled from C++ or CUDA when a module
loads, tables beside a module. So a case is still measured where a native source has changed anywhere in the
repository, or a tracked file of another kind below a folder of its code. If that code mentions importlib,
runpy or exec, a changed module in those folders counts too. A module loaded from elsewhere by a computed name
cannot be detected; `--all` measures everything.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.catalog.source_hash import closure
from harness.core.case import Case
from harness.gate.sides.git import edited_files, new_files
from harness.gate.sides.side import Side

SAME_CODE = "same code on both sides; not measured"

PROSE = {".md", ".rst", ".svg", ".png"}
NATIVE = {
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hip", ".inl", ".metal"),
    *(".hxx", ".ipp", ".s", ".cl", ".f90", ".mlir", ".ptx", ".cubin", ".pxd", ".pyx", ".rs", ".so", ".pyd"),
}
LOADERS = (b"importlib", b"runpy", b"exec(")  # they may load a module without an import statement


def cases_of_same_code(
    opponents: Mapping[Case, Case | None], candidate: Side, base: Side
) -> dict[Case, Case]:
    """The cases with the same code, each with its counterpart; none unless the base is a commit."""
    if not base.trees or candidate.interpreter != base.interpreter:
        return {}
    changed: list[Path] = []
    for repo, tree in base.trees.items():
        changed += edited_files(Path(repo), Path(tree))
        # A gate and a build leave new files of their own.
        changed += [file for file in new_files(Path(repo)) if file.suffix in NATIVE]
    return {
        case: theirs
        for case, theirs in opponents.items()
        if theirs is not None
        and theirs == case
        and _is_same(case, candidate, base)
        and not _reads(case, candidate, changed)
    }


def _is_same(case: Case, candidate: Side, base: Side) -> bool:
    ours, theirs = (side.catalog.implementation(case.implementation) for side in (candidate, base))
    return ours.hash == theirs.hash and ours.expects == theirs.expects


def _reads(case: Case, side: Side, changed: Iterable[Path]) -> bool:
    """Whether the case may read one of the changed files without importing it."""
    named = (side.catalog.implementation(case.implementation).file, side.catalog.family(case.family).file)
    # An `__init__.py` would add its whole folder, with siblings of the case; the modules' folders are enough.
    code = [file for file in closure(*map(Path, named)) if file.name != "__init__.py"]
    folders = {file.parent for file in code}
    harmless = (
        PROSE if any(loader in file.read_bytes() for file in code for loader in LOADERS) else {".py", *PROSE}
    )

    def may_be_read(file: Path) -> bool:
        if file.suffix.lower() in NATIVE or file.is_dir():  # a submodule is listed as a folder
            return True
        return file.suffix not in harmless and any(file.is_relative_to(folder) for folder in folders)

    return any(map(may_be_read, changed))
