"""The frameworks of implementations: those that there are, and what is known of one where none is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import UsageError, closest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

NO_TRITON = "Triton is not installed; pip install -e '.[triton]'"
ENTRY_POINTS = "seqsweep.frameworks"  # name → "package.module:Class", loaded where its cases are measured


@dataclass(frozen=True)
class FrameworkTraits:
    """What the runner and readers of records go by; the defaults are those of a registered framework."""

    devices: tuple[str, ...] = ()  # it runs on; empty where its own `start` alone can tell
    compiles_calls: bool = False  # every call is one compiled program, which depends on the processor
    traces_calls: bool = False  # its figures are those of a trace over fake tensors
    cross_compiler: str = ""  # `module:class` of who compiles for targets that are not at hand
    interpreted_on: tuple[str, ...] = ()  # devices where a call is checked by an interpreter, and not timed
    planned_for: tuple[str, ...] = ()  # targets that a gate compiles an interpreted call for

    @property
    def planner(self) -> str:
        """Who says what a call takes."""
        if self.compiles_calls:
            return "compiler"
        return "trace over fake tensors" if self.traces_calls else "framework"


BUILT_IN: Mapping[str, FrameworkTraits] = {
    "jax": FrameworkTraits(
        ("cpu", "cuda", "tpu"), compiles_calls=True, cross_compiler="harness.xla.compiler:Compiler"
    ),
    "numpy": FrameworkTraits(("cpu",)),
    "pallas": FrameworkTraits(
        ("cpu", "cuda", "tpu"),
        compiles_calls=True,
        cross_compiler="harness.xla.compiler:Compiler",
        interpreted_on=("cpu",),
        planned_for=("tpu:v5p", "tpu:v6e"),
    ),
    "torch": FrameworkTraits(("cpu", "cuda"), traces_calls=True),
    "triton": FrameworkTraits(
        ("cpu", "cuda"),
        traces_calls=True,
        cross_compiler="harness.worker.frameworks.triton.kernel_compiler:KernelCompiler",
        interpreted_on=("cpu",),
        planned_for=("cuda:a100", "cuda:h100"),
    ),
}


def traits_of(framework: str) -> FrameworkTraits:
    return BUILT_IN.get(framework, FrameworkTraits())


def registered() -> dict[str, EntryPoint]:
    """The frameworks of installed packages by name; none of them is loaded."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def require_framework(name: str) -> None:
    """UsageError for a framework that is neither built in nor registered."""
    if name in BUILT_IN:
        return
    known = sorted({*BUILT_IN, *registered()})
    if name not in known:
        raise UsageError(
            f'unknown framework "{name}"{closest(name, known)}; known: {", ".join(known)}; '
            f"an installed package registers another as an entry point of {ENTRY_POINTS}"
        )
