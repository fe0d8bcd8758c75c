"""Catalog of families and implementations as plain data, so that planning does not import them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.catalog.bounds import Promise
from harness.core.errors import UsageError, nearest
from harness.core.plain_data import from_plain
from harness.core.workload import Field

LISTING = "seqsweep list"  # the command that names families and implementations


def _field(fields: Sequence[Field], name: str, kind: str, owner: str) -> Field:
    known = {field.name: field for field in fields}
    if name not in known:
        raise UsageError(f'unknown {kind} "{name}" of {owner}{nearest(name, list(known))}')
    return known[name]


@dataclass(frozen=True)
class FamilyInfo:
    """A family as data. `reference_framework` is what its references need in addition to numpy.

    `module` is the family's own module. Reference workers load it instead of an implementation's module,
    because that import could affect verdicts on others. `checks` maps names to objections. `workload` is the
    name of the workload's class; `inputs` are the names of the inputs of its default workload, if valid.
    """

    name: str
    question: str
    fields: tuple[Field, ...]
    semantics: tuple[str, ...]
    modes: tuple[str, ...]
    file: str
    reference_framework: str = "numpy"
    module: str = ""
    checks: Mapping[str, str] = field(default_factory=dict[str, str])
    workload: str = ""
    inputs: tuple[str, ...] = ()

    def field(self, name: str) -> Field:
        return _field(self.fields, name, "workload field", f"family {self.name}")


@dataclass(frozen=True)
class ImplementationInfo:
    """An implementation as data. `module` is an importable name or a path; `hash` is its source's hash.

    With its author's own semantics, `bounds` are the error bounds by mode, and `reference_framework` is what
    the reference needs; both are empty with the family's semantics. `promise` has the bounds as data; None if
    the author's code defines the reference or contract.
    """

    id: str
    framework: str
    semantics: str
    options: tuple[Field, ...]
    sentence: str
    expects: str | None
    module: str
    file: str
    line: int
    hash: str
    bounds: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    reference_framework: str = ""
    promise: Promise | None = None

    @property
    def family(self) -> str:
        return self.id.split("/", 1)[0]

    @property
    def name(self) -> str:
        return self.id.split("/", 1)[1]

    def option(self, name: str) -> Field:
        return _field(self.options, name, "option", self.id)


@dataclass(frozen=True)
class Catalog:
    families: Mapping[str, FamilyInfo] = field(default_factory=dict)
    implementations: Mapping[str, ImplementationInfo] = field(default_factory=dict)

    def family(self, name: str) -> FamilyInfo:
        if name not in self.families:
            raise UsageError(f'unknown family "{name}"{nearest(name, self.families, LISTING)}')
        return self.families[name]

    def of_family(self, name: str) -> list[ImplementationInfo]:
        """The implementations of a family, sorted by id."""
        infos = [info for info in self.implementations.values() if info.family == name]
        return sorted(infos, key=lambda info: info.id)

    def checks(self) -> dict[str, str]:
        """The objections that checks answer, by check id (`family/name`)."""
        return {
            f"{family.name}/{name}": objection
            for family in self.families.values()
            for name, objection in family.checks.items()
        }

    def implementation(self, name: str, family: str | None = None) -> ImplementationInfo:
        """Look up `family/name`, or `name` when the family is known. UsageError names the nearest."""
        full = name if "/" in name or family is None else f"{family}/{name}"
        if full in self.implementations:
            return self.implementations[full]
        if family is None and "/" not in name:
            known = [info.id for info in self.implementations.values() if info.name == name]
            if len(known) == 1:
                return self.implementations[known[0]]
            if known:
                raise UsageError(f'"{name}" is in several families; write one of {", ".join(sorted(known))}')
        pool = [i.name for i in self.of_family(family)] if family else list(self.implementations)
        where = f" of family {family}" if family else ""
        raise UsageError(f'unknown implementation "{name}"{where}{nearest(name, pool, LISTING)}')

    def reference_frameworks(self, implementations: Iterable[str]) -> set[str]:
        """The frameworks that the references of these implementations need."""
        infos = [self.implementations[name] for name in implementations]
        return {self.families[info.family].reference_framework for info in infos} | {
            info.reference_framework for info in infos if info.reference_framework
        }

    def merged(self, other: "Catalog") -> "Catalog":
        """Join both catalogs. UsageError if an id, or the name of a semantics, is defined twice.

        For an entry in both, from the same file, this catalog's is used: a plugin may import implementations.
        """
        known = {**self.implementations, **self.families}
        for name, info in (*other.implementations.items(), *other.families.items()):
            if name in known and known[name].file != info.file:
                what = f"{'' if '/' in name else 'family '}{name}"
                raise UsageError(f"{what} is defined twice: {known[name].file} and {info.file}; rename one")
        added = {(i.family, i.semantics): i.file for i in self.implementations.values() if i.bounds}
        for info in other.implementations.values():
            file = added.get((info.family, info.semantics), info.file)
            if info.bounds and file != info.file:
                raise UsageError(
                    f'semantics "{info.semantics}" of family {info.family} is defined twice, in {file} '
                    f"and {info.file}; rename one with name="
                )
        return Catalog(
            {**self.families, **other.families, **self.families},
            {**self.implementations, **other.implementations, **self.implementations},
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "families": [asdict(info) for info in self.families.values()],
            "implementations": [asdict(info) for info in self.implementations.values()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Catalog":
        """The catalog that :meth:`to_json` wrote. ValueError for anything else."""
        families = from_plain(list[FamilyInfo], data["families"])
        implementations = from_plain(list[ImplementationInfo], data["implementations"])
        return cls({f.name: f for f in families}, {i.id: i for i in implementations})
