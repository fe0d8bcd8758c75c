"""The frameworks of implementations: where the traits are of those that there are."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pkgutil import resolve_name

from harness.catalog.framework_traits import FrameworkTraits, Package
from harness.core.errors import UsageError, closest

NO_TRITON = "Triton is not installed; pip install -e '.[triton]'"
ENTRY_POINTS = "seqsweep.frameworks"  # name → "package.module:TRAITS"

# The rooms by name, in the order in which versions are told.
BUILT_IN = {
    name: f"harness.worker.frameworks.{name}:TRAITS" for name in ("torch", "jax", "numpy", "pallas", "triton")
}
NOTHING_KNOWN = FrameworkTraits(runner="", packages=())


def traits_of(framework: str) -> FrameworkTraits:
    """The traits of a framework; nothing of one that is not known here, such as an older record's.

    UsageError where an installed package registers something else.
    """
    place = BUILT_IN.get(framework) or registered().get(framework)
    if place is None:
        return NOTHING_KNOWN
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
def registered() -> dict[str, str]:
    """Where the traits of installed packages' frameworks are, by name; none of them is loaded."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def known() -> list[str]:
    """The built-in frameworks, then the others by name."""
    return [*BUILT_IN, *sorted(registered().keys() - BUILT_IN.keys())]


def packages_of(frameworks: Collection[str]) -> list[Package]:
    """What the figures of these frameworks rest on, each once, in the order of the known ones."""
    packages = (package for name in known() if name in frameworks for package in traits_of(name).packages)
    return list({package.name: package for package in packages}.values())


def require_framework(name: str) -> None:
    """UsageError for a framework that is neither built in nor registered."""
    if name in BUILT_IN or name in registered():
        return
    names = sorted(known())
    raise UsageError(
        f'unknown framework "{name}"{closest(name, names)}; known: {", ".join(names)}; '
        f"an installed package registers another as an entry point of {ENTRY_POINTS}"
    )
