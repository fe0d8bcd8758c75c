"""What a framework declares of itself: read by every command, so that none has to load it."""

from dataclasses import dataclass

XLA = "harness.xla.compiler:Compiler"  # the `cross_compiler` of a framework that lowers to XLA


@dataclass(frozen=True)
class Package:
    """An installed distribution that a framework's figures rest on.

    `gives` is what is missing without it; empty where nothing runs. `install` is what pip is asked for, if
    not `name`. Timings of two versions are not compared, unless it is not `fingerprinted`.
    """

    name: str
    gives: str = ""
    install: str = ""
    fingerprinted: bool = True

    @property
    def remedy(self) -> str:
        return f"pip install {self.install or self.name}"


@dataclass(frozen=True, kw_only=True)
class FrameworkTraits:
    """What the runner and readers of records go by. Objects of code are named as `module:name`.

    `runner` is the class of the :class:`~harness.worker.frameworks.base.Framework`, of which a measuring
    process makes one object. The module that declares traits is imported everywhere: it imports no framework.
    """

    runner: str
    packages: tuple[Package, ...]  # its own distribution among them
    devices: tuple[str, ...] = ()  # it runs on; empty where its own `start` alone can tell
    compiles_calls: bool = False  # every call is one compiled program, which depends on the processor
    traces_calls: bool = False  # its figures are those of a trace over fake tensors
    host_compiler: str = ""  # the distribution whose version decides its exact figures on the host
    cross_compiler: str = ""  # the class of who compiles for targets that are not at hand
    kernel_compiler: str = ""  # whose version alone decides the figures of its kernels that a file keeps
    kernels_kept_for: str = ""  # the kind of targets whose kernels a committed file keeps
    interpreted_on: tuple[str, ...] = ()  # devices where a call is checked by an interpreter, and not timed
    planned_for: tuple[str, ...] = ()  # targets that a gate compiles an interpreted call for
    program_caches: tuple[str, ...] = ()  # variables that name the folders of programs it keeps unasked
    writes_references: bool = False  # references may be written in it: it has f64

    @property
    def remedy(self) -> str:
        """What installs the packages without which nothing runs."""
        needed = (package.install or package.name for package in self.packages if not package.gives)
        return f"pip install {' '.join(dict.fromkeys(needed))}"

    @property
    def by_xla(self) -> bool:
        """Whether it compiles for targets as XLA does: for devices by name, with a plugin for each kind."""
        return self.cross_compiler == XLA

    @property
    def planner(self) -> str:
        """Who says what a call takes."""
        if self.compiles_calls:
            return "compiler"
        return "trace over fake tensors" if self.traces_calls else "framework"
