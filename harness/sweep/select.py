"""Selection of the suites, implementations and shard that a command runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import Package, packages_of
from harness.core.case import split_label
from harness.core.errors import UsageError, nearest
from harness.core.plain_data import digest
from harness.core.version import version_of
from harness.sweep.axes import Variant, baseline, swept, variant
from harness.sweep.config import Config, SuiteConfig
from harness.sweep.overrides import Overrides
from harness.sweep.suite import SuiteAxes, resolve_suite
from harness.sweep.yaml_nodes import Scalar, at


@dataclass(frozen=True)
class _NamedImplementation:
    """An implementation that a flag names. `families` are the families that have it."""

    raw: Scalar
    name: str
    bare: bool
    families: frozenset[str]


def select(config: Config, catalog: Catalog, names: Sequence[str], overrides: Overrides) -> list[SuiteAxes]:
    """Select the suites to run, with their implementations.

    Every suite of the file is resolved first, so that mistakes in other suites are also reported.
    """
    grids = {name: resolve_suite(suite, catalog) for name, suite in config.suites.items()}
    requested = [_parse_name(catalog, "--impl", text) for text in dict.fromkeys(overrides.impls)]
    for name in names:
        if name not in grids:
            family, slash, own = name.partition("/")
            hint = f"; for one implementation use --family {family} --impl {own}" if slash else ""
            raise UsageError(f'unknown suite "{name}"{hint or nearest(name, grids, config.path.name)}')
    chosen = [grids[name] for name in dict.fromkeys(names or config.default)]
    flag, needed = "--plugin", list[frozenset[str]]()
    if overrides.families:
        flag, needed = "--family", [frozenset({family}) for family in overrides.families]
        with at(flag):
            known = {catalog.family(family).name for family in overrides.families}
        chosen = [grid for grid in chosen if grid.family.name in known]
        if names and (absent := known - {grid.family.name for grid in chosen}):
            raise UsageError(f"{flag}: {', '.join(names)} selects no suite of family {min(absent)}; add one")
    elif requested and not names:
        flag, needed = "--impl", [implementation.families for implementation in requested]
    elif not names:
        needed = [frozenset({catalog.implementation(plugin).family}) for plugin in overrides.plugins]
    chosen = _with_needed_suites(chosen, grids, catalog, needed, flag)

    families = list(dict.fromkeys(grid.family.name for grid in chosen))
    for implementation in requested:
        _refuse_absent(implementation, catalog, families)
    chosen = [_with_implementations(grid, catalog, requested, overrides) for grid in chosen]
    chosen = [grid for grid in chosen if grid.variants]
    if not chosen:
        raise UsageError(f"{config.path.name} has no suite to run; select a family with --family")
    return _with_baseline(chosen, catalog, overrides)


def _with_needed_suites(
    chosen: list[SuiteAxes],
    grids: Mapping[str, SuiteAxes],
    catalog: Catalog,
    needed: Sequence[frozenset[str]],
    flag: str,
) -> list[SuiteAxes]:
    """`chosen`, plus suites for each needed family: those of bench.yaml, else a new one."""
    result = list(chosen)
    for families in needed:
        if families & {grid.family.name for grid in result}:
            continue
        for family in sorted(families):
            of_family = [grid for grid in grids.values() if grid.family.name == family]
            if not of_family:
                name = family if family not in grids else f"{family}_family"
                # Flags must give the fields that have no defaults.
                made = SuiteConfig(name, where=flag, family=Scalar.from_text(flag, family))
                of_family = [resolve_suite(made, catalog)]
            result += of_family
    return result


def _parse_name(catalog: Catalog, flag: str, text: str) -> _NamedImplementation:
    with at(flag):
        name, options = split_label(text)
    families = frozenset(
        info.family for info in catalog.implementations.values() if name in {info.id, info.name}
    )
    return _NamedImplementation(Scalar.from_text(flag, text), name, not options, families)


def _refuse_absent(requested: _NamedImplementation, catalog: Catalog, families: Sequence[str]) -> None:
    """UsageError if the selected families do not have the implementation."""
    if requested.families & set(families):
        return
    with at(requested.raw.where):
        if not requested.families:
            catalog.implementation(requested.name, families[0] if len(families) == 1 else None)
        home = " and ".join(sorted(requested.families))
        raise UsageError(
            f"{requested.name} is of family {home}, but no selected suite is; "
            "select a suite of that family, or name no suites"
        )


def _matching_variants(requested: _NamedImplementation, catalog: Catalog, grid: SuiteAxes) -> list[Variant]:
    """The variants that a flag names: all listed variants of a bare name, else exactly one."""
    listed = [v for v in grid.variants if requested.bare and requested.name in {v.info.id, v.info.name}]
    if listed:
        return listed
    info, options = swept(catalog, grid.family.name, requested.raw)
    with at(requested.raw.where):
        return [variant(info, {name: values[0] for name, values in options.items()})]


def _with_implementations(
    grid: SuiteAxes, catalog: Catalog, wanted: Sequence[_NamedImplementation], overrides: Overrides
) -> SuiteAxes:
    family = grid.family.name
    names = wanted or [_parse_name(catalog, "--plugin", plugin) for plugin in overrides.plugins]
    named = [v for name in names if family in name.families for v in _matching_variants(name, catalog, grid)]
    listed = [v for v in grid.variants if not wanted or v in named]
    return replace(grid, variants=tuple(dict.fromkeys([*listed, *named])))


def _with_baseline(chosen: list[SuiteAxes], catalog: Catalog, overrides: Overrides) -> list[SuiteAxes]:
    """Apply `--baseline` to every suite of a family that has it, and add it to these suites."""
    if overrides.baseline is None:
        return chosen
    requested = _parse_name(catalog, "--baseline", overrides.baseline)
    _refuse_absent(requested, catalog, list(dict.fromkeys(grid.family.name for grid in chosen)))

    def rebase(grid: SuiteAxes) -> SuiteAxes:
        named = baseline(catalog, grid.family.name, requested.raw, grid.variants)
        return replace(grid, baseline=named, variants=tuple(dict.fromkeys([*grid.variants, named])))

    return [rebase(grid) if grid.family.name in requested.families else grid for grid in chosen]


def leave_out_missing(
    grids: Sequence[SuiteAxes], overrides: Overrides
) -> tuple[list[SuiteAxes], tuple[str, ...]]:
    """(the suites with the variants that can run here, a sentence for each package that is not installed).

    UsageError if a flag names a variant that cannot run, or if no suite is left.
    """
    missing_package = cache(_missing_package)
    remaining: list[SuiteAxes] = []
    left: dict[Package, set[str]] = {}
    for grid in grids:
        here: list[Variant] = []
        for one in grid.variants:
            package = missing_package(_needed_frameworks(grid, one, overrides))
            if package is None:
                here.append(one)
            elif overrides.impls or (overrides.baseline and one == grid.baseline):
                raise UsageError(
                    f"{one.label} needs {package.name}, which is not installed; {package.remedy}"
                )
            else:
                left.setdefault(package, set()).add(one.info.id)
        if here:
            remaining.append(grid.narrowed(here))
    sentences = tuple(
        f"implementations that need {package.name} (not installed): {len(names)}; {package.remedy}"
        for package, names in left.items()
    )
    if grids and not remaining:
        raise UsageError(f"nothing is left to run; left out: {'; '.join(sentences)}")
    return remaining, sentences


def _needed_frameworks(grid: SuiteAxes, variant: Variant, overrides: Overrides) -> frozenset[str]:
    info = variant.info
    judge = info.reference_framework or grid.family.reference_framework
    return frozenset({info.framework} if overrides.compiled_only else {info.framework, judge})


def _missing_package(frameworks: frozenset[str]) -> Package | None:
    packages = (package for package in packages_of(frameworks) if not package.gives)
    return next((package for package in packages if version_of(package.name) is None), None)


_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True)
class Shard:
    """Part `index` of the `count` parts of a sweep, from 1; `sweep` is the hash of the sweep."""

    index: int
    count: int
    sweep: str

    @classmethod
    def parse(cls, text: str, sweep: Mapping[str, Any]) -> Shard:
        """The shard that a text like `3/8` names. UsageError for any other text."""
        match = _SHARD.fullmatch(text.strip())
        index, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= index <= count:
            raise UsageError(f'--shard: "{text}" is not a shard; write for example 1/8 to 8/8')
        return cls(index, count, digest(sweep))

    def part(self, groups: Iterable[str]) -> frozenset[str]:
        """The groups of this part: every `count`-th group of the sweep in its order.

        Lengths ascend in that order, so each part has short and long ones. A hash of the names would leave
        some parts of a small sweep empty. All implementations of a point are in one part, so that no speedup
        compares two machines.
        """
        return frozenset(tuple(dict.fromkeys(groups))[self.index - 1 :: self.count])
