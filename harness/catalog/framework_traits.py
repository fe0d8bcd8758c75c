"""Traits of frameworks: declarations that every command reads without loading a framework."""

from collections.abc import Mapping
from dataclasses import dataclass, field

XLA = "harness.xla.compiler:Compiler"  # the `cross_compiler` of a framework that lowers to XLA


@dataclass(frozen=True)
class Package:
    """An installed distribution that a framework's figures depend on.

    `gives` names what is missing without it; empty if nothing runs without it. `install` is the argument of
    pip, if not `name`. Timings of different versions are not compared if it is `fingerprinted`; with
    `only_on`, on this device alone.
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
    """What the runner, and readers of records, know of a framework. Classes are named as `module:name`.

    `runner` is the :class:`~harness.worker.frameworks.base.Framework`, of which a measuring process makes one
    object. The module that declares the traits is imported everywhere, so it must not import the framework.
    """

    runner: str
    packages: tuple[Package, ...]  # its own distribution among them
    devices: tuple[str, ...] = ()  # that it runs on; empty if only its `start` can tell
    compiles_calls: bool = False  # every call is one compiled program, which depends on the processor
    traces_calls: bool = False  # its figures are those of a trace over fake tensors
    host_compiler: str = ""  # the distribution whose version determines its exact figures on the host
    cross_compiler: str = ""  # the class that compiles for targets that are not at hand
    interpreted_on: tuple[str, ...] = ()  # devices where calls are interpreted: verified, but not timed
    planned_for: tuple[str, ...] = ()  # targets that a gate compiles an interpreted call for
    writes_references: bool = False  # references may be written in it, since it has f64
    quicker_compile: Mapping[str, str] = field(default_factory=dict)  # device → how to compile sooner

    @property
    def remedy(self) -> str:
        """What installs the packages without which nothing runs."""
        needed = (package.install or package.name for package in self.packages if not package.gives)
        return f"pip install {' '.join(dict.fromkeys(needed))}"

    @property
    def by_xla(self) -> bool:
        """Whether XLA cross-compiles it: for named devices, with a plugin for each kind of target."""
        return self.cross_compiler == XLA

    @property
    def planner(self) -> str:
        """What plans a call's memory, in words."""
        if self.compiles_calls:
            return "compiler"
        return "trace over fake tensors" if self.traces_calls else "framework"
