"""`doctor --noise`: gates of equal sides, alone and beside a neighbour, and what they let a gate promise."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.case import Case
from harness.core.errors import MachineError, UsageError
from harness.gate.noise import store as stored
from harness.gate.noise.detectable import MOST, Spread, Tally, held
from harness.gate.noise.load_generator import load_generators
from harness.gate.options import GateOptions
from harness.gate.plan import GatePlan, plan_of
from harness.gate.timed.decision import pair_effect
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.sampling import Rounds
from harness.gate.timed.setup import set_up
from harness.run.machine.fingerprint_probe import FingerprintProbe
from harness.run.machine.lock import device_lock
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project

if TYPE_CHECKING:
    from harness.gate.report.progress import GateProgress

REGIMES = {"alone": 0, "with a neighbour": 1}
PER_FAMILY = 3  # cases, the last of a suite, since the first is often the slow baseline
REGIME_SECONDS = 120.0  # what does not fit into this is too slow to be asked about noise
IDENTITY = ("cpu", "cores", "memory_gib", "kernel")  # of the machine whose noise it is
USUAL = 0.05


class Unkept:
    """A sink for pairs that nobody explains later."""

    def append(self, number: int, rounds: Sequence[Rounds]) -> None:
        """Their effects are in the tally."""


@dataclass(frozen=True)
class Regime:
    """`pair_s` is what a pair of all the cases took, processes included."""

    name: str
    spreads: tuple[Spread, ...]
    pair_s: float

    @property
    def holds(self) -> float | None:
        return held(self.spreads)

    def to_json(self) -> dict[str, Any]:
        cases = [
            {
                "case": one.case,
                "spread": one.spread,
                "pairs": len(one.effects),
                "call_s": one.call_s,
                "holds": one.holds,
                "pairs_for_5_percent": one.pairs_for(USUAL),
            }
            for one in self.spreads
        ]
        return {"regime": self.name, "holds": self.holds, "pair_s": self.pair_s, "cases": cases}


def noise_options() -> GateOptions:
    """A gate of the working tree against itself, as long as one regime may take."""
    overrides = Overrides(settings={"budget": f"{REGIME_SECONDS:g}s"})
    return GateOptions(overrides=overrides, budget_s=REGIME_SECONDS, self_check=True)


def measure(project: Project, options: GateOptions, progress: GateProgress) -> list[Regime]:
    """Measure and store. MachineError when no case could be measured."""
    with plan_of(project, options) as plan, ExitStack() as stack:
        stack.enter_context(device_lock("cpu", " ".join(["seqsweep", *sys.argv[1:]])))
        cases = chosen(plan)
        found: list[Regime] = []
        for name, count in REGIMES.items():
            progress.message(f"{name}:")
            with load_generators(count):
                found.append(_regime(name, plan, cases, progress))
            known = {one.case for one in found[-1].spreads}  # the same ones in every regime
            cases = {case: theirs for case, theirs in cases.items() if case.id in known}
    if not any(regime.spreads for regime in found):
        raise MachineError("no case was fast enough to be measured; name a suite with shorter lengths")
    stored.write(
        project.results,
        {
            "machine": identity(plan.schedule.suites[0].settings.threads),
            "measured": datetime.now(UTC).isoformat(timespec="seconds"),
            "regimes": [regime.to_json() for regime in found],
        },
    )
    return found


def chosen(plan: GatePlan) -> dict[Case, Case]:
    """The shortest length of some implementations, forward: noise is worst where calls are short."""
    shortest: dict[str, Case] = {}
    for case in plan.opponents:
        known = shortest.get(case.series)
        if case.mode == "fwd" and (known is None or case.seq < known.seq):
            shortest[case.series] = case
    families: dict[str, list[Case]] = {}
    for case in shortest.values():
        families.setdefault(case.family, []).append(case)
    return {case: case for found in families.values() for case in found[-PER_FAMILY:]}


def _regime(name: str, plan: GatePlan, cases: Mapping[Case, Case], progress: GateProgress) -> Regime:
    tally = Tally.of([case.id for case in cases])
    started = progress.clock()
    with set_up(plan.schedule, cases, plan.sides, progress) as (shared, paired_cases):
        loop = GateLoop(shared, paired_cases, tally, progress, Unkept(), REGIME_SECONDS, pair_effect)
        loop.run()
        calls = {paired.id: paired.candidate.call_s for paired in paired_cases}
    took = (progress.clock() - started) / tally.wanted
    return Regime(name, tuple(tally.spreads(calls)), took)


def identity(threads: int) -> dict[str, Any]:
    facts: Mapping[str, Any] = FingerprintProbe("cpu", threads).wait()["fingerprint"]
    return {name: facts[name] for name in IDENTITY}


def refuse_below(results: Path, delta: float, threads: int) -> None:
    """UsageError for a Δ below 5 % that this machine is not known to hold."""
    if delta >= USUAL:
        return
    found = stored.read(results)
    measure_it = "measure it with: seqsweep doctor --noise"
    share = f"{100 * delta:g} %"
    if found is None or found.get("machine") != identity(threads):
        raise UsageError(
            f"a gate for {share} needs a quiet machine, and this one's noise is not known; {measure_it}"
        )
    alone = found["regimes"][0]
    holds = alone["holds"]
    if holds is None or holds > delta:
        worst = max(alone["cases"], key=lambda case: case["spread"])
        can = f"{100 * holds:g} %" if holds else "no slowdown up to 50 %"
        raise UsageError(
            f"{share} cannot be held here: equal sides spread by {100 * worst['spread']:.1f} % "
            f"({worst['case'].split('@')[0]}), so that {MOST} pairs hold {can}; take that, or a quieter "
            f"machine, and {measure_it}"
        )
