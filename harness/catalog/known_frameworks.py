"""Registry of frameworks: the traits of built-in ones, and of those that installed packages register."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pkgutil import resolve_name

from harness.catalog.framework_traits import FrameworkTraits, Package
from harness.core.errors import UsageError, closest

NO_TRITON = "Triton is not installed; pip install -e '.[triton]'"
ENTRY_POINTS = "seqsweep.frameworks"  # name → "package.module:TRAITS"

# Traits by name, in the order in which versions are listed.
BUILT_IN = {
    name: f"harness.worker.frameworks.{name}:TRAITS" for name in ("torch", "jax", "numpy", "pallas", "triton")
}
UNKNOWN_FRAMEWORK = FrameworkTraits(runner="", packages=())


def traits_of(framework: str) -> FrameworkTraits:
    """The traits of a framework; empty ones if it is unknown here, such as one in another's records.

    UsageError where an installed package registers something else.
    """
    place = BUILT_IN.get(framework) or registered_traits().get(framework)
    if place is None:
        return UNKNOWN_FRAMEWORK
    try:
        traits = resolve_name(place)
    except Exception as error:  # a package's own code, which may raise anything
        raise UsageError(
            f'framework "{framework}": {place} cannot be imported ({type(error).__name__}: {error}); '
            "repair or uninstall its package"
        ) from None
    if not isinstance(traits, FrameworkTraits):
        raise UsageError(
            f'framework "{framework}": {place} is no FrameworkTraits; its entry point of {ENTRY_POINTS} '
            f'names such an object, whose runner="{place}" may be'
        )
    return traits


@cache
def registered_traits() -> dict[str, str]:
    """`module:name` of the traits that installed packages register, by framework; nothing is loaded."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def known() -> list[str]:
    """The names of the built-in frameworks, then of the registered ones, sorted."""
    return [*BUILT_IN, *sorted(registered_traits().keys() - BUILT_IN.keys())]


def packages_of(frameworks: Collection[str]) -> list[Package]:
    """The packages that the figures of these frameworks depend on, each once, in the order of `known`."""
    packages = (package for name in known() if name in frameworks for package in traits_of(name).packages)
    return list({package.name: package for package in packages}.values())


def require_framework(name: str) -> None:
    """UsageError for a framework that is neither built in nor registered."""
    if name in BUILT_IN or name in registered_traits():
        return
    names = sorted(known())
    raise UsageError(
        f'unknown framework "{name}"{closest(name, names)}; known: {", ".join(names)}; '
        f"an installed package registers another as an entry point of {ENTRY_POINTS}"
    )
