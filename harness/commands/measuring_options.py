"""Options of the commands that measure or compile: time limits, precision, targets, the gate."""

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

SUITES = argument("Suites of bench.yaml (default: its default suites).")
STRICT = flag(OUTPUT, "Also exit with 3 if a case crashed, timed out or is unsupported.")


@option_group
class ProfileFlags:
    """Flags of a profile: what it shows in addition to stages, and how long it may take."""

    ops: bool = flag(OUTPUT, "Also show the slowest operators with their bytes.")
    trace: Path | None = option(OUTPUT, "Write a trace of one call for Chrome or Perfetto into this file.")
    budget: Text = option(LIMITS, "Sampling time per case (default: bench.yaml's, else 4s).")
    resume: bool = flag(RUN, "Resume the latest interrupted profile of these cases.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(overrides, budget=self.budget)

    def extras(self, cases: "Sequence[Case]") -> "ProfileExtras":
        """What to profile in addition to stages. UsageError if the trace cannot be written."""
        from harness.run.group.run_context import ProfileExtras

        if self.trace is not None:
            if len(cases) != 1:
                count = len(cases)
                raise UsageError(f"--trace: one case is traced, not {count}; name its --seq and --mode")
            if self.trace.is_dir() or not os.access(self.trace.parent, os.W_OK):
                raise UsageError(f"--trace {self.trace}: cannot be written; name another file")
        return ProfileExtras(self.ops, self.trace)


@option_group
class SamplingFlags:
    """How long and how precisely to measure, and what to compare with."""

    baseline: Text = option(SELECTION, "Implementation that speedups are relative to (default: the suite's).")
    budget: Text = option(LIMITS, "Sampling time per case; longer calls are skipped (default: bench.yaml's).")
    precision: Text = option(LIMITS, "Stop sampling when the speedup is known to ± this share (default: 5%).")
    replicates: int = option(LIMITS, "Fresh processes per case; with 4 or more, intervals cover them.", 1)
    resume: bool = flag(RUN, "Resume the latest interrupted run of these suites.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        sampled = put_settings(overrides, budget=self.budget, precision=self.precision)
        return replace(sampled, baseline=self.baseline, replicates=self.replicates)


@option_group
class RunFlags(SamplingFlags):
    """Flags of a run: those of sampling, CUDA graphs, and --dry-run."""

    dry_run: bool = flag(RUN, "List the suites, their cases and budgets without running anything.")
    graphs: bool = flag(RUN, "Time CUDA graph replays instead of calls (torch on CUDA).")

    def extras(self, cases: "Sequence[Case]") -> "ProfileExtras":
        """What to measure in addition to times. UsageError if a device has no CUDA graphs."""
        from harness.run.group.run_context import ProfileExtras

        others = sorted({case.device for case in cases} - {"cuda"})
        if self.graphs and others:
            raise UsageError(f"--graphs: {others[0]} has no CUDA graphs to replay; add --device cuda")
        return ProfileExtras(graphs=self.graphs)


@option_group
class PageFlags:
    """Flags of `static`: searches over lengths, and the pages shown instead of a run's tables."""

    max_seq: bool = flag(TARGETS, "Also find the longest sequence that fits each target.")
    kernels: bool = flag(TARGETS, "Describe each GPU kernel: instructions, and spills by source line.")
    owners: bool = flag(TARGETS, "Show the buffers at each planned peak by source line.")
    against: Text = option(TARGETS, "Compare with another commit (git:REF) or environment (py:INTERPRETER).")


@option_group
class LaunchFlags:
    """Flags of a kernel in a file (FILE.py::KERNEL instead of a suite): how it is launched."""

    args: Text = option(TARGETS, "With FILE.py::KERNEL: its arguments, x=f32[64Ki], n=65536, BLOCK=1024.")
    grid: Text = option(TARGETS, "With FILE.py::KERNEL: its grid, 64 or n/BLOCK (rounded up).")

    def kernel_in(self, words: Sequence[str]) -> str | None:
        """The FILE.py::KERNEL among the words, or None. UsageError if there are other words."""
        named = next((word for word in words if "::" in word or word.endswith(".py")), None)
        if named is not None and len(words) > 1:
            raise UsageError(f"{named}: cannot be combined with other words; name one kernel")
        return named


@option_group
class ShardFlags:
    """Which part of a sweep this machine runs, or which machines run it instead."""

    shard: Text = option(SELECTION, "Run only this part: 3/8 (seqsweep collect joins the parts).")
    on: Text = option(SELECTION, "Run on these machines of bench.yaml (default: this machine).")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return replace(overrides, shard=self.shard)


GATE = "Gate"


@option_group
class GateFlags:
    """Which base to compare with, how to decide, and where the result is written."""

    against: Text = option(GATE, "Base: git:REF, impl:NAME or py:INTERPRETER (default: the merge base).")
    cases: Words = option(GATE, "Patterns of case ids to compare: 'mask/*seq=4096:*' (default: all).")
    everything: bool = flag(GATE, "Also measure cases with equal code.", name="--all")
    dry_run: bool = flag(GATE, "List what would be measured without running anything.")
    delta: Text = option(GATE, "Smallest slowdown to detect (default: the suite's, else 5%).")
    max_pairs: int = option(GATE, "Maximum number of process pairs per case.", 12)
    budget: str = option(GATE, "Wall time for the whole gate.", "300s")
    explain: Text = option(GATE, "Show the evidence for the verdict on one case, by id or pattern.")
    last: bool = flag(GATE, "Show the latest gate again without measuring.")
    self_check: bool = flag(GATE, "Compare the working tree with itself.")
    static: bool = flag(GATE, "Compare compiled figures and contracts only; time nothing.")
    inconclusive: str = option(GATE, 'Treat "not enough evidence" as: warn or fail.', "fail")
    junit: Path | None = option(GATE, "Also write JUnit XML into this file.")
    wait: bool = flag(GATE, "Wait while another benchmark uses the device (default: exit with 5).")

    def options(self, suites: Sequence[str] | None, overrides: "Overrides") -> "GateOptions":
        """The options of a gate. UsageError if the flags contradict each other."""
        from harness.gate.options import GateOptions, parse_budget

        # The other flags have the names of the options.
        typed = {name: value for name, value in vars(self).items() if name not in {"cases", "budget"}}
        return GateOptions(
            suites=tuple(suites or ()),
            # The gate's budget is also the budget of each case, so that its suite's budget skips none.
            overrides=put_settings(overrides, budget=self.budget),
            cases=tuple(self.cases or ()),
            budget_s=parse_budget(self.budget),
            **typed,
        )
