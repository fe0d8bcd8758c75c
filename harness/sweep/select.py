"""Which suites a command runs, and which of their implementations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.catalog.catalog import Catalog
from harness.core.case import split_label
from harness.core.errors import UsageError, nearest
from harness.sweep.config import Config
from harness.sweep.overrides import Overrides
from harness.sweep.suite import SuiteAxes, for_family, understand
from harness.sweep.variants import Variant, baseline, from_label, variant
from harness.sweep.yaml.nodes import Scalar, at


@dataclass(frozen=True)
class _NamedImplementation:
    """An implementation as a flag names it. `families` are those it exists in."""

    raw: Scalar
    name: str
    bare: bool
    families: frozenset[str]


def select(config: Config, catalog: Catalog, names: Sequence[str], overrides: Overrides) -> list[SuiteAxes]:
    """The suites to run with the implementations to run in them.

    Every suite of the file is understood first, so that a slip in one that is not run is told as well.
    """
    grids = {name: understand(suite, catalog) for name, suite in config.suites.items()}
    wanted = [_parse_name(catalog, "--impl", text) for text in dict.fromkeys(overrides.impls)]
    chosen = _named_suites(grids, config, names)
    if overrides.families:
        chosen = _of_families(chosen, grids, catalog, names, overrides.families)
    elif not names:
        needed = [one.families for one in wanted]
        if not wanted:
            needed += [frozenset({catalog.implementation(plugin).family}) for plugin in overrides.plugins]
        chosen = _with_needed_suites(chosen, grids, catalog, needed, "--impl" if wanted else "--plugin")

    families = list(dict.fromkeys(grid.family.name for grid in chosen))
    for one in wanted:
        _refuse_absent(one, catalog, families)
    chosen = [_with_implementations(grid, catalog, wanted, overrides) for grid in chosen]
    chosen = [grid for grid in chosen if grid.variants]
    if not chosen:
        raise UsageError(f"{config.path.name} has no suite to run; name a family with --family")
    return _with_baseline(chosen, catalog, overrides)


def _named_suites(grids: Mapping[str, SuiteAxes], config: Config, names: Sequence[str]) -> list[SuiteAxes]:
    for name in names:
        if name not in grids:
            raise UsageError(f'unknown suite "{name}"{nearest(name, grids)}')
    return [grids[name] for name in dict.fromkeys(names or config.default)]


def _of_families(
    chosen: list[SuiteAxes],
    grids: Mapping[str, SuiteAxes],
    catalog: Catalog,
    names: Sequence[str],
    families: Sequence[str],
) -> list[SuiteAxes]:
    for family in families:
        with at("--family"):
            catalog.family(family)
    found = [grid for grid in chosen if grid.family.name in families]
    missing = [family for family in dict.fromkeys(families) if family not in {g.family.name for g in found}]
    if missing and names:
        raise UsageError(f"--family: none of the suites {', '.join(names)} is of family {missing[0]}")
    return _with_needed_suites(found, grids, catalog, [frozenset({family}) for family in missing], "--family")


def _with_needed_suites(
    chosen: list[SuiteAxes],
    grids: Mapping[str, SuiteAxes],
    catalog: Catalog,
    needed: Sequence[frozenset[str]],
    flag: str,
) -> list[SuiteAxes]:
    """`chosen`, and the suites that reach each needed family: those of bench.yaml, else one made here."""
    found = list(chosen)
    for families in needed:
        if families & {grid.family.name for grid in found}:
            continue
        for family in sorted(families):
            own = [grid for grid in grids.values() if grid.family.name == family]
            if not own:
                name = family if family not in grids else f"{family}_family"
                own = [understand(for_family(family, flag, name), catalog)]
            found += own
    return found


def _parse_name(catalog: Catalog, flag: str, text: str) -> _NamedImplementation:
    with at(flag):
        name, options = split_label(text)
    families = frozenset(
        info.family for info in catalog.implementations.values() if name in {info.id, info.name}
    )
    return _NamedImplementation(Scalar.given(flag, text), name, not options, families)


def _refuse_absent(one: _NamedImplementation, catalog: Catalog, families: Sequence[str]) -> None:
    """UsageError when none of the selected families has the implementation."""
    if one.families & set(families):
        return
    if one.families:
        home = " and ".join(sorted(one.families))
        raise UsageError(
            f"{one.raw.where}: {one.name} is of family {home}, and no selected suite is; "
            "select one of that family, or leave the suites out"
        )
    infos = [info for family in families for info in catalog.of_family(family)]
    known = [info.id if "/" in one.name else info.name for info in infos]
    where = f" of family {families[0]}" if len(families) == 1 else ""
    raise UsageError(f'{one.raw.where}: unknown implementation "{one.name}"{where}{nearest(one.name, known)}')


def _matching_variants(one: _NamedImplementation, catalog: Catalog, grid: SuiteAxes) -> list[Variant]:
    """The variants of a suite that a flag names: those listed under a bare name, or exactly the spelt one."""
    same = [known for known in grid.variants if one.bare and one.name in {known.info.id, known.info.name}]
    if same:
        return same
    info, options = from_label(catalog, grid.family.name, one.raw)
    with at(one.raw.where):
        return [variant(info, {name: values[0] for name, values in options.items()})]


def _with_implementations(
    grid: SuiteAxes, catalog: Catalog, wanted: Sequence[_NamedImplementation], overrides: Overrides
) -> SuiteAxes:
    family = grid.family.name
    if wanted:
        named = [
            v for one in wanted if family in one.families for v in _matching_variants(one, catalog, grid)
        ]
        kept = [known for known in grid.variants if known in named]
    else:
        plugins = [_parse_name(catalog, "--plugin", plugin) for plugin in overrides.plugins]
        named = [
            v for one in plugins if family in one.families for v in _matching_variants(one, catalog, grid)
        ]
        kept = list(grid.variants)
    return replace(grid, variants=tuple(dict.fromkeys([*kept, *named])))


def _with_baseline(chosen: list[SuiteAxes], catalog: Catalog, overrides: Overrides) -> list[SuiteAxes]:
    """`--baseline` in every selected suite whose family has it; it is measured there even if not listed."""
    if overrides.baseline is None:
        return chosen
    one = _parse_name(catalog, "--baseline", overrides.baseline)
    _refuse_absent(one, catalog, list(dict.fromkeys(grid.family.name for grid in chosen)))
    found: list[SuiteAxes] = []
    for grid in chosen:
        if grid.family.name in one.families:
            meant = baseline(catalog, grid.family.name, one.raw, grid.variants)
            variants = tuple(dict.fromkeys([*grid.variants, meant]))
            found.append(replace(grid, baseline=meant, variants=variants))
        else:
            found.append(grid)
    return found
