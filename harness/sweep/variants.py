"""Implementations with their options, as bench.yaml and flags list them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.catalog.catalog import Catalog, ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import label, split_label
from harness.core.errors import UsageError
from harness.core.workload import Value
from harness.sweep.axes import axis, refuse_too_many
from harness.sweep.yaml.nodes import Node, Scalar, YamlMapping, at, scalar, scalars

Spelt = tuple[ImplementationInfo, dict[str, list[Value]]]  # an implementation and the values of its options


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
        options = {option.name: option for option in self.info.options}
        return all(not options[n].required and value == options[n].default for n, value in self.options)

    @property
    def is_planned_elsewhere(self) -> bool:
        """Whether its framework compiles for targets that are not at hand."""
        return bool(traits_of(self.info.framework).cross_compiler)


def variant(info: ImplementationInfo, options: Mapping[str, Value]) -> Variant:
    """A variant with the given options, completed with defaults. ValueError for one without a default."""
    values: dict[str, Value] = {}
    for option in info.options:
        if option.required and option.name not in options:
            raise ValueError(
                f"{info.id} needs a value for its option {option.name}; "
                f'write "{info.name}[{option.name}=…]", in quotes in bench.yaml'
            )
        values[option.name] = options.get(option.name, option.default)
    return Variant(info, tuple(sorted(values.items())))


def lookup(catalog: Catalog, family: str, name: str) -> ImplementationInfo:
    """The implementation called `name` or `family/name` within one family."""
    info = catalog.implementation(name, family)
    if info.family != family:
        raise UsageError(f"{info.id} is not of family {family}; it belongs in another suite")
    return info


def from_label(catalog: Catalog, family: str, raw: Scalar) -> Spelt:
    """The implementation and options of a label such as `two_stage[buckets=4096,keep=2]`."""
    with at(raw.where):
        name, spelled = split_label(raw.text)
        info = lookup(catalog, family, name)
        fields = {option: info.option(option) for option in spelled}
    options = {
        option: axis(fields[option], [Scalar.given(raw.where, text)]) for option, text in spelled.items()
    }
    return info, options


def _from_table(catalog: Catalog, family: str, node: YamlMapping) -> Spelt:
    """`{two_stage: {buckets: [1024, 4096], keep: 2}}`: lists of option values, swept."""
    if len(node.entries) != 1:
        raise UsageError(
            f"{node.where}: an entry of impls names one implementation, written {{name: {{option: value}}}}"
        )
    name, entry = next(iter(node.entries.items()))
    with at(entry.where):
        info = lookup(catalog, family, name)
    if isinstance(entry.node, Scalar) and entry.node.value is None:
        return info, {}
    if not isinstance(entry.node, YamlMapping):
        raise UsageError(f"{entry.node.where}: options of {name} are written {{option: value}}")

    options: dict[str, list[Value]] = {}
    for option, values in entry.node.entries.items():
        with at(values.where):
            field = info.option(option)
        options[option] = axis(field, scalars(values.node, option))
    return info, options


def expand(catalog: Catalog, family: str, node: Node) -> list[Variant]:
    """All variants that one entry stands for: the product of its options' values."""
    if isinstance(node, YamlMapping):
        info, options = _from_table(catalog, family, node)
    else:
        info, options = from_label(catalog, family, scalar(node, "an entry of impls"))
    counts = {option: len(values) for option, values in options.items()}
    refuse_too_many(node.where, counts, f"the options of {info.name} make")
    with at(node.where):
        return [
            variant(info, dict(zip(options, values, strict=True)))
            for values in itertools.product(*options.values())
        ]


def listed_variants(catalog: Catalog, family: str, nodes: Sequence[Node]) -> tuple[Variant, ...]:
    """The variants of a suite in the order written; two entries for one are an error."""
    variants: dict[str, Variant] = {}
    for node in nodes:
        for entry in expand(catalog, family, node):
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
    """The variant that `node` names: a bare name is its one listed variant, else its default options.

    UsageError when the name fits several listed variants.
    """
    if isinstance(node, YamlMapping):
        swept = expand(catalog, family, node)
        if len(swept) > 1:
            raise UsageError(f"{node.where}: a baseline is one variant; give each option one value")
        return swept[0]
    raw = scalar(node, "baseline")
    info, options = from_label(catalog, family, raw)
    candidates = [candidate for candidate in among if candidate.info.id == info.id and not options]
    if len(candidates) == 1:
        return candidates[0]
    for candidate in candidates:
        if candidate.is_default:
            return candidate
    if candidates:
        either = " or ".join(candidate.label for candidate in candidates)
        raise UsageError(f"{raw.where}: baseline {raw.text} could be {either}; name one")
    with at(raw.where):
        return variant(info, {name: values[0] for name, values in options.items()})
