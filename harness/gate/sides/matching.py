"""Matching of cases: find the base's counterpart of each case, and whether their code is equal."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import closure
from harness.core.case import Case, split_label
from harness.core.errors import UsageError
from harness.core.paths import PROJECT
from harness.core.workload import Field, Value, canonical, shown_fields
from harness.gate.sides.git import edited_files, new_files
from harness.gate.sides.side import Side
from harness.sweep.axes import Variant, swept, variant
from harness.sweep.yaml_nodes import Scalar


def counterpart(case: Case, candidate: Side, base: Side) -> Case | str | None:
    """The base's counterpart, or the reason why it has none; None if the case is not compared.

    Both must have the same workload. A field that only one side has must be at its default, because the other
    side behaves as with the default.
    """
    if base.implementation is not None:
        return _named_counterpart(case, base.catalog, base.implementation)
    theirs = base.catalog.implementations.get(case.implementation)
    if theirs is None:
        return f"{case.implementation} is not registered in the base, {base.description}"
    installed = Path(theirs.file).is_relative_to(PROJECT / "impls")  # without a tree, both use it
    if base.trees and base.tree(theirs.file) is None and not installed:
        return f"{theirs.file} is in no git repository, so it has no earlier version; commit it to one"
    mine = candidate.catalog.implementations[case.implementation]
    ours, family = candidate.catalog.families[case.family], base.catalog.families[case.family]
    if case.mode not in family.modes:
        return f"the base, {base.description}, does not have mode {case.mode}"
    full = {**{known.name: known.default for known in ours.fields}, **dict(case.workload)}
    workload = _shared_values("field", full, ours.fields, family.fields)
    options = _shared_values("option", dict(case.options), mine.options, theirs.options)
    if isinstance(workload, str):
        return workload
    if isinstance(options, str):
        return options
    return Case.of(
        case.implementation, options, shown_fields(family.fields, workload), case.mode, case.device
    )


def _shared_values(
    kind: str, values: Mapping[str, Value], mine: tuple[Field, ...], theirs: tuple[Field, ...]
) -> dict[str, Value] | str:
    """The values that both sides accept, or the reason why the base does not accept one."""
    mine_by_name = {entry.name: entry for entry in mine}
    theirs_by_name = {entry.name: entry for entry in theirs}
    shared: dict[str, Value] = {}
    for name, value in values.items():
        text = f"{kind} {name}={canonical(value)}"
        if name in theirs_by_name:
            if not _accepts(theirs_by_name[name], value):
                return f"the base does not accept {text}"
            shared[name] = value
        elif mine_by_name[name].required or value != mine_by_name[name].default:
            return f"the base does not have {text}"
    for name, entry in theirs_by_name.items():
        if name not in mine_by_name:
            if entry.required:
                return f"the base requires {kind} {name}, which the candidate does not have"
            shared[name] = entry.default  # written out, as in the base's ids
    return shared


def _accepts(entry: Field, value: Value) -> bool:
    if not entry.required and value == entry.default:
        return True
    try:
        return entry.parse(value) == value
    except ValueError:
        return False


def _named_counterpart(case: Case, catalog: Catalog, label: str) -> Case | None:
    """The named implementation at the same workload; None for itself, and if the family lacks it."""
    named = counterpart_by_name(catalog, case.family, label)
    if named is None:
        return None
    options, workload = dict(named.options), dict(case.workload)
    theirs = Case.of(named.info.id, options, workload, case.mode, case.device)
    return None if theirs == case else theirs


def counterpart_by_name(catalog: Catalog, family: str, label: str) -> Variant | None:
    """The variant that `impl:LABEL` names in a family; None if the family does not have that name.

    UsageError for options that it does not have.
    """
    try:
        name, _ = split_label(label)
    except ValueError as error:
        raise UsageError(f"--against: {error}") from None
    full = name if "/" in name else f"{family}/{name}"
    if full not in catalog.implementations or not full.startswith(f"{family}/"):
        return None
    info, options = swept(catalog, family, Scalar.from_text("--against", label))
    try:
        return variant(info, {option: values[0] for option, values in options.items()})
    except ValueError as error:
        raise UsageError(f"--against: {error}") from None


SAME_CODE = "same code on both sides; not measured"

PROSE = {".md", ".rst", ".svg", ".png"}
NATIVE = {
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hip", ".inl", ".metal"),
    *(".hxx", ".ipp", ".s", ".cl", ".f90", ".mlir", ".ptx", ".cubin", ".pxd", ".pyx", ".rs", ".so", ".pyd"),
}
LOADERS = (b"importlib", b"runpy", b"exec(")  # they may load a module without an import statement


def cases_of_same_code(
    counterparts: Mapping[Case, Case | None], candidate: Side, base: Side
) -> dict[Case, Case]:
    """Cases with the same code on both sides, with their counterparts; empty if the base is not a commit.

    A case has the same code if the sources of its implementation, of its family and of everything that they
    import are equal, with the same options, workload and interpreter. The harness does not count, because one
    harness runs both sides. Code may also be read as data, for example C++ kernels, or tables next to a
    module. So a case is still measured if a native source has changed anywhere in the repository, or a
    tracked file of another kind below a folder of its code. If that code mentions one of LOADERS, a changed
    module in those folders counts too. A module loaded from another folder by a computed name cannot be
    detected; `--all` measures everything.
    """
    if not base.trees or candidate.interpreter != base.interpreter:
        return {}
    changed: list[Path] = []
    for repo, tree in base.trees.items():
        changed += edited_files(Path(repo), Path(tree))
        # Gates and builds also create new files.
        changed += [file for file in new_files(Path(repo)) if file.suffix in NATIVE]
    return {
        case: theirs
        for case, theirs in counterparts.items()
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
    # An `__init__.py` would add its whole folder, including other cases; the modules' folders are enough.
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
