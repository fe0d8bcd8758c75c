"""The options of `gate`: which base, how to decide, and where the outcome goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from harness.commands.options import Text, Words, option, option_group, put_settings

if TYPE_CHECKING:
    from harness.gate.options import GateOptions
    from harness.sweep.overrides import Overrides

GATE = "Gate"


@option_group
class GateFlags:
    """Which base, how to decide, and where the outcome goes."""

    against: Annotated[
        Text,
        option(GATE, "--against", "The base: git:REF, impl:NAME or py:INTERPRETER; none: the merge base."),
    ] = None
    cases: Annotated[Words, option(GATE, "--cases", "Only cases that match: 'mask/*seq=4096*'.")] = None
    everything: Annotated[bool, option(GATE, "--all", "Also cases whose code is the same.")] = False
    dry_run: Annotated[bool, option(GATE, "--dry-run", "Say what would be measured, and stop.")] = False
    delta: Annotated[Text, option(GATE, "--delta", "The slowdown to catch: 5%.")] = None
    max_pairs: Annotated[int, option(GATE, "--max-pairs", "Pairs of processes per case, at most.")] = 12
    budget: Annotated[str, option(GATE, "--budget", "Wall time of the gate: 300s.")] = "300s"
    explain: Annotated[Text, option(GATE, "--explain", "Show the evidence on this case.")] = None
    last: Annotated[bool, option(GATE, "--last", "Show the newest gate again; nothing is measured.")] = False
    self_check: Annotated[bool, option(GATE, "--self-check", "The working tree against itself.")] = False
    static: Annotated[bool, option(GATE, "--static", "Exact figures and contracts; no clock.")] = False
    update: Annotated[bool, option(GATE, "--update", "With --static: write results/baselines/.")] = False
    inconclusive: Annotated[str, option(GATE, "--inconclusive", "Not enough evidence: warn or fail.")] = (
        "fail"
    )
    junit: Annotated[Path | None, option(GATE, "--junit", "Write JUnit XML there.")] = None
    resume: Annotated[bool, option(GATE, "--resume", "Continue the interrupted gate of the same cases.")] = (
        False
    )
    wait: Annotated[bool, option(GATE, "--wait", "Wait while another benchmark holds a device.")] = False

    def options(self, suites: Sequence[str] | None, overrides: "Overrides") -> "GateOptions":
        """The options of a gate. UsageError where the flags contradict each other."""
        from harness.gate.options import GateOptions, parse_budget

        # The others are options as they were typed, under the same names.
        typed = {name: value for name, value in vars(self).items() if name not in {"cases", "budget"}}
        return GateOptions(
            suites=tuple(suites or ()),
            # also the budget of each case: one that fits into the gate is not skipped for its suite's budget
            overrides=put_settings(overrides, budget=self.budget),
            cases=tuple(self.cases or ()),
            budget_s=parse_budget(self.budget),
            **typed,
        )
