"""Traits of built-in and registered frameworks, which can be read without loading a framework."""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name

from harness.core.errors import UsageError, closest
from harness.core.version import version_of

XLA = "harness.xla.compiler:Compiler"  # the `cross_compiler` of a framework that lowers to XLA


@dataclass(frozen=True)
class Package:
    """An installed distribution that a framework's figures depend on.

    `gives` names what is missing without it; empty if nothing runs without it. `install` is the argument of
    pip, if not `name`. Timings of different versions are not compared if it is `fingerprinted`; with
    `only_on`, this applies only to that device.
    """

    name: str
    gives: str = ""
    install: str = ""
    fingerprinted: bool = True
    only_on: str | None = None

    @property
    def remedy(self) -> str:
        return f"pip install {self.install or self.name}"


@dataclass(frozen=True, kw_only=True)
class FrameworkTraits:
    """What the runner and readers of records know about a framework. Classes are named `module:name`.

    `runner` is the :class:`~harness.worker.frameworks.base.Framework`, of which a measuring process makes one
    object. The module that declares the traits is imported everywhere, so it must not import the framework.
    """

    runner: str
    packages: tuple[Package, ...]  # its own distribution among them
    devices: tuple[str, ...] = ()  # devices that it runs on; empty if only its `start` knows
    compiles_calls: bool = False  # every call is one compiled program, which depends on the processor
    traces_calls: bool = False  # its figures are those of a trace over fake tensors
    host_compiler: str = ""  # the distribution whose version determines its exact figures on the host
    cross_compiler: str = ""  # the class that compiles for absent targets
    interpreted_on: tuple[str, ...] = ()  # devices where calls are interpreted: checked, but not timed
    planned_for: tuple[str, ...] = ()  # targets for which a gate compiles an interpreted call
    writes_references: bool = False  # references may be written in it, since it has f64
    quicker_compile: Mapping[str, str] = field(default_factory=dict)  # device → how to compile faster

    @property
    def remedy(self) -> str:
        """The command that installs the required packages."""
        needed = (package.install or package.name for package in self.packages if not package.gives)
        return f"pip install {' '.join(dict.fromkeys(needed))}"

    @property
    def by_xla(self) -> bool:
        """Whether XLA cross-compiles it: for named devices, with a plugin for each kind of target."""
        return self.cross_compiler == XLA

    @property
    def planner(self) -> str:
        """The name of what plans a call's memory."""
        if self.compiles_calls:
            return "compiler"
        return "trace over fake tensors" if self.traces_calls else "framework"


NO_TRITON = "Triton is not installed; pip install -e '.[triton]'"
ENTRY_POINTS = "seqsweep.frameworks"  # name → "package.module:TRAITS"

# Traits by name, in the order in which versions are listed.
NAMES = ("torch", "jax", "numpy", "pallas", "triton")
BUILT_IN = {name: f"harness.worker.frameworks:{name.upper()}" for name in NAMES}
UNKNOWN_FRAMEWORK = FrameworkTraits(runner="", packages=())


def traits_of(framework: str) -> FrameworkTraits:
    """The traits of a framework; empty ones if it is unknown here, for example one in a foreign record.

    UsageError if an installed package registers something else.
    """
    place = BUILT_IN.get(framework) or registered_traits().get(framework)
    if place is None:
        return UNKNOWN_FRAMEWORK
    try:
        traits = resolve_name(place)
        if not isinstance(traits, FrameworkTraits):
            raise TypeError(f"it is a {type(traits).__name__}, not a FrameworkTraits")
    except Exception as error:  # a package's own code, which may raise anything
        raise UsageError(
            f'framework "{framework}": {place} cannot be used ({type(error).__name__}: {error}); '
            "fix or uninstall its package"
        ) from None
    return traits


@cache
def registered_traits() -> dict[str, str]:
    """`module:name` of the traits that installed packages register, by framework, without loading them."""
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
        f"to add one, register its traits as an entry point of {ENTRY_POINTS}"
    )


def versions() -> dict[str, str | None]:
    """The versions of Python, and of the packages that the figures of built-in frameworks depend on."""
    installed = {package.name: version_of(package.name) for package in packages_of(BUILT_IN)}
    return {**installed, "python": platform.python_version()}
