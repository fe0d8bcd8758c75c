"""The options of `gate`: which base, how to decide, and where the outcome goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.option_groups import flag, option, option_group
from harness.commands.options import Text, Words, put_settings

if TYPE_CHECKING:
    from harness.gate.options import GateOptions
    from harness.sweep.overrides import Overrides

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
