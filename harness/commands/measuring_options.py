"""The options of the commands that measure or compile: how long and how exactly, for which targets."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.option_groups import argument, flag, option, option_group
from harness.commands.options import LIMITS, OUTPUT, RUN, SELECTION, Text, Words, put_settings
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.core.case import Case
    from harness.gate.options import GateOptions
    from harness.run.group.run_context import ProfileExtras
    from harness.sweep.overrides import Overrides

TARGETS = "Targets"

SUITES = argument("Suites of bench.yaml; none: its default ones.")
STRICT = flag(OUTPUT, "Exit 3 also where a case crashed, timed out or is unsupported.")


@option_group
class ProfileFlags:
    """Flags of a profile: what it has beside its stages, and how long it may take."""

    ops: bool = flag(OUTPUT, "The operators that take longest, with their bytes.")
    trace: Path | None = option(OUTPUT, "File for Chrome's or Perfetto's trace of a call.")
    budget: Text = option(LIMITS, "Sampling per case, and profiling it: 4s.")
    resume: bool = flag(RUN, "Continue the newest profile of the same.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(overrides, budget=self.budget)

    def extras(self, cases: "Sequence[Case]") -> "ProfileExtras":
        """The extras to profile of these cases. UsageError where a trace is not possible."""
        from harness.run.group.run_context import ProfileExtras

        if self.trace is not None:
            if len(cases) != 1:
                count = len(cases)
                raise UsageError(f"--trace: is of one case, these are {count}; name its --seq and --mode")
            if self.trace.is_dir() or not os.access(self.trace.parent, os.W_OK):
                raise UsageError(f"--trace {self.trace}: cannot be written; name a file in a folder of yours")
        return ProfileExtras(self.ops, self.trace)


@option_group
class SamplingFlags:
    """How long and how exactly to measure, and what to compare with."""

    baseline: Text = option(SELECTION, "What speedups are relative to.")
    budget: Text = option(LIMITS, "Sampling time per case: 4s.")
    precision: Text = option(LIMITS, "Sampling ends at an interval of ± this: 5%.")
    replicates: int = option(LIMITS, "Repeat in fresh processes; 4 give intervals over processes.", 1)
    resume: bool = flag(RUN, "Continue the newest run of the same suites.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        sampled = put_settings(overrides, budget=self.budget, precision=self.precision)
        return replace(sampled, baseline=self.baseline, replicates=self.replicates)


@option_group
class RunFlags(SamplingFlags):
    """Flags of a run: those of sampling, and what else is measured, or only planned."""

    dry_run: bool = flag(RUN, "The suites, their cases and budgets; nothing is compiled or run.")
    graphs: bool = flag(RUN, "Time replays of CUDA graphs instead of calls: torch on CUDA.")

    def extras(self, cases: "Sequence[Case]") -> "ProfileExtras":
        """What to measure of these cases beside their times. UsageError where it cannot be."""
        from harness.run.group.run_context import ProfileExtras

        others = sorted({case.device for case in cases} - {"cuda"})
        if self.graphs and others:
            raise UsageError(f"--graphs: {others[0]} has no CUDA graphs to replay; add --device cuda")
        return ProfileExtras(graphs=self.graphs)


@option_group
class PageFlags:
    """Flags of `static`: searches over compiled programs, and the page shown in place of a run's tables."""

    max_seq: bool = flag(TARGETS, "Also the largest length that fits each target.")
    kernels: bool = flag(TARGETS, "All about each GPU kernel: instructions, and spills by source line.")
    owners: bool = flag(TARGETS, "The buffers at each planned peak, by source line; of two, which differ.")
    against: Text = option(TARGETS, "What changed since git:REF, or from py:INTERPRETER.")


@option_group
class LaunchFlags:
    """Flags of a kernel in a file, FILE.py::KERNEL in place of a suite: how it is launched."""

    args: Text = option(TARGETS, "FILE.py::KERNEL: its arguments, x=f32[64Ki], n=65536, BLOCK=1024.")
    grid: Text = option(TARGETS, "FILE.py::KERNEL: its blocks, 64 or n/BLOCK, which is rounded up.")

    def kernel_in(self, words: Sequence[str]) -> str | None:
        """The FILE.py::KERNEL among the words, if any.  UsageError for words beside it."""
        named = next((word for word in words if "::" in word or word.endswith(".py")), None)
        if named is not None and len(words) > 1:
            raise UsageError(f"{named}: is one kernel, and goes without the other words")
        return named


@option_group
class ShardFlags:
    """Which part of a sweep this machine takes, or which machines take it instead."""

    shard: Text = option(SELECTION, "This machine's part of the sweep, 3/8; collect joins the parts.")
    on: Text = option(SELECTION, "Machines of bench.yaml that measure it instead of this one.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return replace(overrides, shard=self.shard)


GATE = "Gate"


@option_group
class GateFlags:
    """Which base, how to decide, and where the outcome goes."""

    against: Text = option(GATE, "The base: git:REF, impl:NAME or py:INTERPRETER; none: the merge base.")
    cases: Words = option(GATE, "Only cases that match: 'mask/*seq=4096*'.")
    everything: bool = flag(GATE, "Also cases whose code is the same.", name="--all")
    dry_run: bool = flag(GATE, "Say what would be measured, and stop.")
    delta: Text = option(GATE, "The slowdown to catch: 5%.")
    max_pairs: int = option(GATE, "Pairs of processes per case, at most.", 12)
    budget: str = option(GATE, "Wall time of the gate: 300s.", "300s")
    explain: Text = option(GATE, "Show the evidence on this case.")
    last: bool = flag(GATE, "Show the newest gate again; nothing is measured.")
    self_check: bool = flag(GATE, "The working tree against itself.")
    static: bool = flag(GATE, "Exact figures and contracts; no clock.")
    inconclusive: str = option(GATE, "Not enough evidence: warn or fail.", "fail")
    junit: Path | None = option(GATE, "Write JUnit XML there.")
    wait: bool = flag(GATE, "Wait while another benchmark holds a device.")

    def options(self, suites: Sequence[str] | None, overrides: "Overrides") -> "GateOptions":
        """The options of a gate. UsageError where the flags contradict each other."""
        from harness.gate.options import GateOptions, parse_budget

        # The other flags are options of the same names, as typed.
        typed = {name: value for name, value in vars(self).items() if name not in {"cases", "budget"}}
        return GateOptions(
            suites=tuple(suites or ()),
            # also the budget of each case: one that fits into the gate is not skipped for its suite's budget
            overrides=put_settings(overrides, budget=self.budget),
            cases=tuple(self.cases or ()),
            budget_s=parse_budget(self.budget),
            **typed,
        )
