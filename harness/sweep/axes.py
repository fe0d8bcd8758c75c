"""The grid of a suite: the product of workload fields and implementations with options."""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import label, split_label
from harness.core.errors import UsageError
from harness.core.units import parse_count
from harness.core.workload import Field, Value, canonical, shown_fields
from harness.sweep.yaml_nodes import Node, Scalar, YamlMapping, at, scalar, scalars, table

MOST_CASES = 100_000  # of a suite: this takes weeks, so more cases are probably a mistyped axis


def parse(field: Field, raw: Scalar) -> Value:
    """Parse a workload field or an option; an error names its place."""
    with at(raw.where):
        return field.parse(raw.value if raw.value is None or field.kind == "bool" else raw.text)


def axis(field: Field, values: Sequence[Scalar]) -> list[Value]:
    """The values of one axis in the order written. UsageError for a duplicate, which is easy to overlook."""
    parsed: dict[Value, None] = {}
    for raw in values:
        for value in expand(field, raw):
            if value in parsed:
                raise UsageError(f"{raw.where}: {field.name} lists {canonical(value)} twice; name it once")
            parsed[value] = None
    return list(parsed)


def expand(field: Field, raw: Scalar) -> list[Value]:
    """The written value, or the values of a range: `4Ki..64Ki` doubles from 4Ki to 64Ki."""
    first, dots, last = raw.text.partition("..")
    if not dots or field.kind != "int":
        return [parse(field, raw)]
    with at(raw.where):
        low, high = parse_count(first), parse_count(last)
        values = [low << doublings for doublings in range(63) if low << doublings <= high]
        if not low or values[-1:] != [high]:
            raise ValueError(
                f'"{raw.text}": doubling {first} does not give {last}; write for example 4Ki..64Ki'
            )
    return [parse(field, Scalar.from_text(raw.where, str(value))) for value in values]


def refuse_too_many(where: str, what: str, counts: Iterable[int]) -> None:
    """UsageError if axes with these numbers of values make more than MOST_CASES."""
    total = math.prod(counts)
    if total > MOST_CASES:
        raise UsageError(
            f"{where}: {what} {total} cases, over the limit of {MOST_CASES}; "
            "shorten an axis, or split the suite"
        )


def missing_fields(family: FamilyInfo, given: Collection[str]) -> list[str]:
    """The required fields without a value."""
    return [field.name for field in family.fields if field.required and field.name not in given]


def complete(family: FamilyInfo, given: Mapping[str, list[Value]]) -> dict[str, list[Value]]:
    """Every field of the family with its values, in the family's order; lengths ascend."""
    full = {field.name: given.get(field.name, [field.default]) for field in family.fields}
    full["seq"] = sorted(full["seq"], key=lambda value: int(value or 0))
    return full


def points(family: FamilyInfo, axes: Mapping[str, list[Value]]) -> list[dict[str, Value]]:
    """The product of complete axes, as the workloads that case ids show; the length varies fastest."""
    names = [name for name in axes if name != "seq"] + ["seq"]
    return [
        shown_fields(family.fields, dict(zip(names, values, strict=True)))
        for values in itertools.product(*(axes[name] for name in names))
    ]


@dataclass(frozen=True)
class Variant:
    """An implementation with a value for each of its options, sorted by name."""

    info: ImplementationInfo
    options: tuple[tuple[str, Value], ...]

    @property
    def label(self) -> str:
        return label(self.info.id, self.options)

    @property
    def is_default(self) -> bool:
        return all(value == self.info.option(name).default for name, value in self.options)

    @property
    def is_planned_elsewhere(self) -> bool:
        """Whether its framework cross-compiles for absent accelerators."""
        return bool(traits_of(self.info.framework).cross_compiler)


def variant(info: ImplementationInfo, options: Mapping[str, Value]) -> Variant:
    """A variant with the given options, completed with defaults. ValueError for one without a default."""
    for option in info.options:
        if option.required and option.name not in options:
            raise ValueError(
                f"{info.id} needs a value for its option {option.name}; "
                f'write "{info.name}[{option.name}=…]" (quoted in bench.yaml)'
            )
    values = {option.name: options.get(option.name, option.default) for option in info.options}
    return Variant(info, tuple(sorted(values.items())))


def swept(catalog: Catalog, family: str, node: Node) -> tuple[ImplementationInfo, dict[str, list[Value]]]:
    """An implementation of a family, and the values of its options, as written in a suite or a flag.

    Both forms are allowed: `two_stage[buckets=4096,keep=2]`, `{two_stage: {buckets: [1024, 4096], keep: 2}}`.
    """
    where = node.where
    if isinstance(node, YamlMapping):
        if len(node.entries) != 1:
            raise UsageError(
                f"{where}: an entry of impls must have one implementation; write {{name: {{option: value}}}}"
            )
        ((name, entry),) = node.entries.items()
        options = table(entry.node, f"the options of {name}").entries
        written = {option: scalars(values.node, option) for option, values in options.items()}
    else:
        raw = scalar(node, "an implementation")
        with at(where):
            name, texts = split_label(raw.text)
        written = {option: (Scalar.from_text(where, text),) for option, text in texts.items()}
    with at(where):
        info = catalog.implementation(name, family)
        if info.family != family:
            raise UsageError(f"{info.id} is not of family {family}; move it to a suite of {info.family}")
    found: dict[str, list[Value]] = {}
    for option, values in written.items():
        with at(values[0].where):
            field = info.option(option)
        found[option] = axis(field, values)
    return info, found


def variants_of(catalog: Catalog, family: str, node: Node) -> list[Variant]:
    """All variants of one entry: the product of its options' values."""
    info, options = swept(catalog, family, node)
    refuse_too_many(node.where, f"the options of {info.name} make", map(len, options.values()))
    with at(node.where):
        return [
            variant(info, dict(zip(options, values, strict=True)))
            for values in itertools.product(*options.values())
        ]


def listed_variants(catalog: Catalog, family: str, nodes: Sequence[Node]) -> tuple[Variant, ...]:
    """The variants of a suite in the order written. A duplicate is an error."""
    variants: dict[str, Variant] = {}
    for node in nodes:
        for entry in variants_of(catalog, family, node):
            if entry.label in variants:
                raise UsageError(f"{node.where}: impls lists {entry.label} twice; name it once")
            variants[entry.label] = entry
    return tuple(variants.values())


def all_of(catalog: Catalog, family: str, where: str) -> tuple[Variant, ...]:
    """Every implementation of the family with its default options."""
    infos = catalog.of_family(family)
    if not infos:
        raise UsageError(f"{where}: family {family} has no implementations; add one with --plugin")
    with at(where):
        return tuple(variant(info, {}) for info in infos)


def baseline(catalog: Catalog, family: str, node: Node, among: Sequence[Variant]) -> Variant:
    """The baseline that `node` names. A bare name means the only listed variant, else the default options.

    UsageError if the name fits several variants.
    """
    info, options = swept(catalog, family, node)
    listed = [each for each in among if each.info.id == info.id and not options]
    candidates = [each for each in listed if each.is_default] or listed or variants_of(catalog, family, node)
    if len(candidates) > 1:
        either = " or ".join(candidate.label for candidate in candidates)
        raise UsageError(f"{node.where}: the baseline could be {either}; name one")
    return candidates[0]
