"""Implementations that cannot run here: a framework that they, or their references, need is not installed."""

from collections.abc import Sequence
from functools import cache

from harness.catalog.framework_traits import Package
from harness.catalog.known_frameworks import packages_of, traits_of
from harness.core.errors import UsageError
from harness.core.version import version_of
from harness.sweep.overrides import Overrides
from harness.sweep.suite import SuiteAxes
from harness.sweep.variants import Variant


def leave_out_missing(
    grids: Sequence[SuiteAxes], overrides: Overrides
) -> tuple[list[SuiteAxes], tuple[str, ...]]:
    """(the suites with what can run here, a sentence for each package that is not installed).

    UsageError where a flag names what cannot run, or nothing is left.
    """
    missing_package = cache(_missing_package)
    remaining: list[SuiteAxes] = []
    left: dict[Package, list[Variant]] = {}
    for grid in grids:
        needed = {variant: _needed_frameworks(grid, variant, overrides) for variant in grid.variants}
        lacking = {each: package for each, names in needed.items() if (package := missing_package(names))}
        for variant, package in lacking.items():
            if overrides.impls or (overrides.baseline and variant == grid.baseline):
                what = "" if _is_its_own(variant, package) else " for its reference"
                raise UsageError(
                    f"{variant.label} needs {package.name}{what}, which is not installed; {package.remedy}"
                )
            left.setdefault(package, []).append(variant)
        if here := [variant for variant in grid.variants if variant not in lacking]:
            remaining.append(grid.narrowed(here))
    sentences = tuple(_sentence(package, variants) for package, variants in left.items())
    if grids and not remaining:
        raise UsageError(f"nothing is left to run: {'; '.join(sentences)}")
    return remaining, sentences


def _needed_frameworks(grid: SuiteAxes, variant: Variant, overrides: Overrides) -> frozenset[str]:
    info = variant.info
    judge = info.reference_framework or grid.family.reference_framework
    return frozenset({info.framework} if overrides.compiled_only else {info.framework, judge})


def _missing_package(frameworks: frozenset[str]) -> Package | None:
    packages = (package for package in packages_of(frameworks) if not package.gives)
    return next((package for package in packages if version_of(package.name) is None), None)


def _is_its_own(variant: Variant, package: Package) -> bool:
    return package in traits_of(variant.info.framework).packages


def _sentence(package: Package, variants: Sequence[Variant]) -> str:
    own = {variant.info.id: _is_its_own(variant, package) for variant in variants}
    judged = [*own.values()].count(False)
    count = f"{len(own)}, {judged} of them for a reference" if judged else f"{len(own)}"
    return f"implementations that need {package.name}, which is not installed: {count}; {package.remedy}"
