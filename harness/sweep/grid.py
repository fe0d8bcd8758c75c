"""A suite of bench.yaml with its names resolved in the catalog, before any flag applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.core.errors import UsageError, nearest
from harness.core.workload import Value
from harness.sweep.axes import axis
from harness.sweep.config import SUITE_KEYS, SuiteConfig
from harness.sweep.variants import Variant, all_of, baseline, listed
from harness.sweep.yaml.nodes import Scalar, at, scalars


@dataclass(frozen=True)
class SuiteAxes:
    """`axes` holds what the suite says; fields left to their defaults, or to flags, are absent."""

    suite: SuiteConfig
    family: FamilyInfo
    variants: tuple[Variant, ...]
    baseline: Variant
    axes: Mapping[str, list[Value]]


def understand(suite: SuiteConfig, catalog: Catalog) -> SuiteAxes:
    """UsageError, with file, line and the nearest name, for whatever the catalog does not know.

    A baseline that the suite does not list joins it in front: a speedup needs both sides.
    """
    with at(suite.family.where):
        family = catalog.family(suite.family.text)
    axes = _axes(suite, family)
    if suite.impls is None:
        variants = all_of(catalog, family.name, suite.where)
    else:
        variants = listed(catalog, family.name, suite.impls)
    first = variants[0]
    if suite.baseline is not None:
        first = baseline(catalog, family.name, suite.baseline, variants)
    if first not in variants:
        variants = (first, *variants)
    return SuiteAxes(suite, family, variants, first, axes)


def _axes(suite: SuiteConfig, family: FamilyInfo) -> dict[str, list[Value]]:
    names = [field.name for field in family.fields]
    if "seq" not in names:
        raise UsageError(
            f"{suite.family.where}: family {family.name} has no field seq, so nothing can be swept"
        )
    found: dict[str, list[Value]] = {}
    for name, entry in suite.axes.items():
        if name not in names:
            known = (*names, *SUITE_KEYS)
            raise UsageError(
                f'{entry.where}: unknown key "{name}" of suite {suite.name}{nearest(name, known)}'
            )
        found[name] = axis(family.field(name), scalars(entry.node, name))
    return found


def for_family(family: str, flag: str, name: str) -> SuiteConfig:
    """A suite of a family that bench.yaml has none of: everything it does not default comes from flags."""
    return SuiteConfig(name=name, where=flag, family=Scalar.given(flag, family))
