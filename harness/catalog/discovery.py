"""Discovery of registered code as a catalog, here or under another import path or interpreter.

The project's own implementations import no framework at module level and are imported in this process. A
plugin's import may do anything, so it runs in a child process. `python -m harness.catalog.discovery SOURCE`
prints a plugin's catalog as JSON. Without SOURCE it prints the built-in catalog and the names of installed
plugins; with --versions, the versions of packages. Even under another import path this harness runs, and
only registered code comes from there.
"""

import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.catalog import child_process
from harness.catalog.bounds import Promise, limit_of
from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.catalog.contract import Contract
from harness.catalog.family import Family
from harness.catalog.implementation import Implementation, OwnSemantics
from harness.catalog.known_frameworks import require_framework, traits_of, versions
from harness.catalog.loading import (
    families_in,
    family_of,
    file_of,
    implementations_in,
    line_of,
    load,
    module_of,
    require_source,
)
from harness.catalog.source_hash import source_hash
from harness.core.errors import SideError, UsageError, nearest
from harness.core.workload import MODES, Field, fields_of

PLUGIN_SECONDS = 60.0
ENTRY_POINTS = "seqsweep.implementations"

NO_REFERENCES = "write references in numpy, torch, or a framework with the trait writes_references"
NO_DTYPE = "tolerance(…) needs a dtype, and the workload has none: add that field, or use within(…)"
VERSIONS = "--versions"  # instead of a source
SIDE_SECONDS = 120.0
SHORT_SEQ = 4096  # a length that every built-in family supports


@cache  # each of its implementations needs it
def describe_family(family: Family, source: str) -> FamilyInfo:
    """The family as data. UsageError names a property that the harness does not support."""
    fields = fields_of(family.workload) if is_dataclass(family.workload) else ()
    frameworks = {meaning.framework for meaning in family.semantics.values()}
    for framework in sorted(frameworks):
        require_framework(framework)
    beside_numpy = sorted(frameworks - {"numpy"})
    for wrong, problem in (
        (not family.semantics, "it has no semantics: add at least one"),
        (
            not any(f.name == "seq" and f.kind == "int" for f in fields),
            "its workload needs seq: int",
        ),
        (not (family.modes and set(family.modes) <= set(MODES)), f"its modes must be of {', '.join(MODES)}"),
        (not all(traits_of(each).writes_references for each in frameworks), NO_REFERENCES),
        (len({check.name for check in family.checks}) < len(family.checks), "two of its checks share a name"),
        (len(beside_numpy) > 1, f"its references are in {' and '.join(beside_numpy)}: use one framework"),
        (any(map(family.lacks_dtype, family.semantics.values())), NO_DTYPE),
    ):
        if wrong:
            raise UsageError(f'{file_of(family)}: family "{family.name}" cannot be used: {problem}')
    return FamilyInfo(
        name=family.name,
        question=family.question,
        fields=fields,
        semantics=tuple(family.semantics),
        modes=family.modes,
        file=str(file_of(family)),
        reference_framework=beside_numpy[0] if beside_numpy else "numpy",
        checks={check.name: check.objection for check in family.checks},
        module=home if (home := module_of(family)).startswith("impls.") else source,
        workload=family.workload.__name__,
        inputs=_input_names(family, fields),
    )


def _input_names(family: Family, fields: Iterable[Field]) -> tuple[str, ...]:
    """The names of the inputs of a short default workload, which also has a cost; empty if it is invalid."""
    values = {f.name: SHORT_SEQ if f.name == "seq" else f.minimum for f in fields if f.required}
    try:
        workload = family.workload(**values)
        names = tuple(family.shapes_of(family.first_semantics, workload))
    except Exception:  # a plugin's code may raise anything; the names only fill templates
        return ()
    family.cost_of(family.first_semantics, workload)
    return names


def describe_implementation(
    implementation: Implementation, source: str, *, hashed: bool = True
) -> ImplementationInfo:
    """The implementation as data. Hashing its source takes longer than everything else."""
    family = family_of(implementation)
    if problem := _find_problem(implementation, family):
        raise UsageError(f"{file_of(implementation)}:{line_of(implementation)}: {problem}")
    own = implementation.own
    return ImplementationInfo(
        id=f"{family.name}/{implementation.name}",
        framework=implementation.framework,
        semantics=implementation.semantics,
        options=implementation.options,
        sentence=_describe_builder(implementation),
        expects=implementation.expect.reason if implementation.expect else None,
        module=source,
        file=str(file_of(implementation)),
        line=line_of(implementation),
        hash=source_hash(file_of(implementation), file_of(family)) if hashed else "",
        **(_describe_own(own, family) if own else {}),
    )


def _describe_builder(implementation: Implementation) -> str:
    """The first paragraph of a builder's docstring, or of its file's if that has only this builder."""
    builder = implementation.builder
    doc, module = inspect.getdoc(builder), inspect.getmodule(builder)
    if doc is None and module is not None:
        builders = {
            other.builder
            for other in implementations_in(module)
            if other.builder.__module__ == module.__name__
        }
        doc = inspect.getdoc(module) if builders == {builder} else None
    return (doc or "").split("\n\n", 1)[0].replace("\n", " ")


def _find_problem(implementation: Implementation, family: Family) -> str | None:
    """The problem with the semantics that an implementation names or defines; None if there is none."""
    own, name = implementation.own, implementation.semantics
    try:
        require_framework(implementation.framework)
    except UsageError as error:
        return str(error)
    if own is None:
        wanted = name
    elif family.lacks_dtype(own):
        return NO_DTYPE
    elif not traits_of(own.framework).writes_references:
        return NO_REFERENCES
    elif name in family.semantics:
        return f'semantics "{name}" belongs to family {family.name}; give OwnSemantics another name='
    else:
        wanted = _reference_name(own, family)
    if wanted is None or wanted in family.semantics:
        return None
    return f'unknown semantics "{wanted}" of family {family.name}{nearest(wanted, family.semantics)}'


def _reference_name(own: OwnSemantics, family: Family) -> str | None:
    """The family's semantics whose reference an author uses; None for the author's own reference."""
    return None if callable(own.reference) else own.reference or family.first_semantics


def _describe_own(own: OwnSemantics, family: Family) -> dict[str, Any]:
    """The bounds of an author's own semantics by mode, its reference's framework, and its promise."""
    of = _reference_name(own, family)
    result, gradient = _allowed(own.contract), "no bound for gradients"
    if own.gradient is not None:
        gradient = f"{_allowed(own.gradient)} for gradients"
    reference = "the author's reference" if of is None else f"the reference of {of}"
    counted = "" if own.cost is None else "; work by the author's formula"
    bounds = {"fwd": result, "bwd": gradient, "fwd_bwd": f"{result}, {gradient}"}
    return {
        "bounds": {mode: f"{bound} against {reference}{counted}" for mode, bound in bounds.items()},
        "reference_framework": own.framework if of is None else family.semantics[of].framework,
        "promise": _promise(own, of),
    }


def _promise(own: OwnSemantics, of: str | None) -> Promise | None:
    result, gradient = limit_of(own.contract), own.gradient and limit_of(own.gradient)
    if of is None or result is None or (own.gradient is not None and gradient is None):
        return None
    return Promise(of, result, gradient)


def _allowed(contract: Contract) -> str:
    """The bound of a contract, marked if the author's code defines it."""
    name = contract.bound or contract.name
    module = getattr(contract.judge, "__module__", "")
    return name if module.startswith(("harness.", "impls.")) else f'the author\'s contract "{name}"'


def describe_module(module: ModuleType, source: str, *, hashed: bool = True) -> Catalog:
    """The catalog of a module: its families and implementations, and the families that these use."""
    catalog = Catalog()
    defined: dict[tuple[str, str], OwnSemantics] = {}
    for family in families_in(module):
        if family.name in catalog.families:
            raise UsageError(f'{file_of(family)}: two families have the name "{family.name}"; rename one')
        catalog = catalog.merged(Catalog({family.name: describe_family(family, source)}))
    for implementation in implementations_in(module):
        info = describe_implementation(implementation, source, hashed=hashed)
        family = family_of(implementation)
        if (own := implementation.own) and defined.setdefault((family.name, info.semantics), own) is not own:
            raise UsageError(
                f'{info.file}:{info.line}: semantics "{info.semantics}" is defined twice in this file; '
                "share one OwnSemantics, or rename one with name="
            )
        if info.id in catalog.implementations:
            raise UsageError(f"{info.file}: {info.id} is registered twice; rename one")
        catalog = catalog.merged(Catalog({family.name: describe_family(family, source)}, {info.id: info}))
    return catalog


def builtin(*, hashed: bool = True) -> Catalog:
    """The catalog of `impls/`: a folder per family, with a module per variant in it or in a subfolder."""
    import impls

    catalog = Catalog()
    for name in _modules_below(impls):
        catalog = catalog.merged(describe_module(load(name), name, hashed=hashed))
    return catalog


def _modules_below(package: ModuleType) -> Iterator[str]:
    """Names of all modules below a package, except claims and private modules or folders."""
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        name = entry.name.rpartition(".")[2]
        if name == "claims" or name.startswith("_"):
            continue
        if entry.ispkg:
            yield from _modules_below(load(entry.name))
        else:
            yield entry.name


def installed() -> list[str]:
    """Modules that installed packages register under the entry-point group."""
    from importlib.metadata import entry_points

    return sorted({point.value for point in entry_points(group=ENTRY_POINTS)})


def plugin(
    source: str,
    seconds: float = PLUGIN_SECONDS,
    *,
    path: Sequence[str] = (),
    interpreter: str = sys.executable,
) -> Catalog:
    """Describe a plugin (path or module) in a child process, because importing it may do anything.

    The folders of `path` come first on its import path; they must contain `harness` and `impls`.
    """
    if source.endswith(".py") and not Path(source).is_file():
        raise UsageError(f"plugin {source}: does not exist; name a Python file")
    require_source(source)
    try:
        answer = child_process.ask(
            ["harness.catalog.discovery", source], seconds, path=path, interpreter=interpreter
        )
    except child_process.NoAnswer as error:
        raise UsageError(f"plugin {source} cannot be read: {error}") from None
    try:
        return Catalog.from_json(answer)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"plugin {source} registers something that is not plain data: {error}") from None


def catalog(plugins: Iterable[str] = (), *, hashed: bool = True) -> Catalog:
    """The catalog of the project, installed packages and the given plugins.

    Without `hashed`, the project's own entries lack source hashes, which only records need.
    """
    everything = builtin(hashed=hashed)
    for source in dict.fromkeys([*installed(), *plugins]):
        described = plugin(source)
        if not described.implementations and not described.families:
            raise UsageError(f"plugin {source} registers nothing; decorate a builder with @implementation")
        everything = everything.merged(described)
    return everything


def catalog_elsewhere(
    path: Sequence[str],
    plugins: Sequence[str],
    interpreter: str = sys.executable,
    seconds: float = SIDE_SECONDS,
    *,
    without: Sequence[str] = (),
) -> Catalog:
    """The catalog of everything registered with the folders of `path` first on the import path.

    They must contain `harness` and `impls`, unless `path` is empty. Modules in `without` are skipped, even if
    an installed package registers them. Other modules may register nothing. SideError names a module that
    does not load.
    """
    try:
        answer = child_process.ask(["harness.catalog.discovery"], seconds, path=path, interpreter=interpreter)
        everything = Catalog.from_json(answer["builtin"])
        for source in dict.fromkeys([*answer["installed"], *plugins]):
            if source not in without:
                described = plugin(source, path=path, interpreter=interpreter)
                everything = everything.merged(described)
    except (child_process.NoAnswer, UsageError) as error:
        raise SideError(str(error)) from None
    return everything


if __name__ == "__main__":
    sources = sys.argv[1:]
    if sources == [VERSIONS]:
        child_process.answer(versions)
    elif sources:
        child_process.answer(lambda: describe_module(load(sources[0]), sources[0]).to_json())
    else:
        child_process.answer(lambda: {"builtin": builtin().to_json(), "installed": installed()})
