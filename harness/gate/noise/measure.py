"""`doctor --noise`: A/A gates (equal sides), alone and under load, and the Δ that they let a gate promise.

The latest measurement of this machine is kept in `results/noise.json`.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core.case import Case
from harness.core.errors import MachineError, UsageError
from harness.core.grouped import grouped
from harness.gate.noise.detectable import MAX_PAIRS, PAIRS, CaseNoise, held_delta
from harness.gate.noise.load_generator import load_generators
from harness.gate.options import GateOptions
from harness.gate.plan import GatePlan
from harness.gate.planning import plan_of
from harness.gate.report.progress import GateProgress
from harness.gate.timed.context import set_up
from harness.gate.timed.decision import Margin
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.sequential_test import SequentialTest
from harness.run.machine.lock import device_lock
from harness.run.machine.probes import probe_fingerprint
from harness.store import json_file
from harness.store.atomic import write_files
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project

FILE = "noise.json"
REGIMES = {"alone": 0, "with a neighbour": 1}
PER_FAMILY = 3  # cases, the last of a suite, since the first is often the slow baseline
REGIME_SECONDS = 120.0  # a case that does not fit into this is too slow for this measurement
IDENTITY = ("cpu", "cores", "memory_gib", "kernel")  # facts that identify the machine
USUAL = 0.05


@dataclass(frozen=True)
class Regime:
    """The noise under one load of the machine.

    `pair_s` are the seconds of a pair of all cases, processes included.
    """

    name: str
    spreads: tuple[CaseNoise, ...]
    pair_s: float

    @property
    def held_delta(self) -> float | None:
        return held_delta(self.spreads)

    def to_json(self) -> dict[str, Any]:
        cases = [
            {
                "case": spread.case,
                "spread": spread.spread,
                "pairs": len(spread.effects),
                "call_s": spread.call_s,
                "holds": spread.smallest_delta,
                "pairs_for_5_percent": spread.pairs_for(USUAL),
            }
            for spread in self.spreads
        ]
        return {"regime": self.name, "holds": self.held_delta, "pair_s": self.pair_s, "cases": cases}


def noise_options() -> GateOptions:
    """Options of a gate of the working tree against itself, with the budget of one regime."""
    overrides = Overrides(settings={"budget": f"{REGIME_SECONDS:g}s"})
    return GateOptions(overrides=overrides, budget_s=REGIME_SECONDS, self_check=True)


def measure(project: Project, options: GateOptions, progress: GateProgress) -> list[Regime]:
    """Measure and store. MachineError when no case could be measured."""
    with plan_of(project, options) as plan, ExitStack() as stack:
        stack.enter_context(device_lock("cpu"))
        cases = short_cases(plan)
        regimes: list[Regime] = []
        for name, count in REGIMES.items():
            progress.message(f"{name}:")
            with load_generators(count):
                regimes.append(_regime(name, plan, cases, progress))
            measured = {spread.case for spread in regimes[-1].spreads}  # every regime compares the same ones
            cases = {case: theirs for case, theirs in cases.items() if case.id in measured}
            if not cases:
                raise MachineError(
                    f"no case had all its pairs in {REGIME_SECONDS:g} s; measure on a quieter machine, or "
                    "give bench.yaml a default suite with shorter lengths"
                )
    noise = {
        "machine": identity(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "regimes": [regime.to_json() for regime in regimes],
    }
    write_files(project.results, {FILE: json_file.to_text(noise)})
    return regimes


def short_cases(plan: GatePlan) -> dict[Case, Case]:
    """Forward cases at the shortest length of a few implementations: noise is worst where calls are short."""
    shortest: dict[str, Case] = {}
    for case in plan.opponents:
        known = shortest.get(case.series)
        if case.mode == "fwd" and (known is None or case.seq < known.seq):
            shortest[case.series] = case
    families = grouped(shortest.values(), lambda case: case.family)
    return {case: case for cases in families.values() for case in cases[-PER_FAMILY:]}


def _regime(name: str, plan: GatePlan, cases: Mapping[Case, Case], progress: GateProgress) -> Regime:
    ids = [case.id for case in cases]
    # An advisory case has one analysis, which decides nothing: here it comes after all PAIRS pairs.
    test = SequentialTest(dict.fromkeys(ids, Margin(looks=(PAIRS,))), advisory=ids)
    started = progress.clock()
    with set_up(plan.schedule.groups, cases, plan.sides, progress) as (shared, paired_cases):
        # The rounds are not kept: `test` has the effects, and no --explain will ask for more.
        GateLoop(shared, paired_cases, test, progress, lambda _rounds: None, REGIME_SECONDS).run()
        calls = {paired.id: paired.candidate.call.seconds for paired in paired_cases}
    pair_s = (progress.clock() - started) / PAIRS
    spreads = (
        CaseNoise(case, tuple(state.first), calls[case])
        for case, state in test.cases.items()
        if len(state.first) >= PAIRS
    )
    return Regime(name, tuple(spreads), pair_s)


def identity() -> dict[str, Any]:
    facts: Mapping[str, Any] = probe_fingerprint("cpu", threads=1)["fingerprint"]
    return {name: facts[name] for name in IDENTITY}


def refuse_below(results: Path, delta: float) -> None:
    """UsageError for a Δ below 5 % that this machine is not known to hold."""
    if delta >= USUAL:
        return
    path, measure_it = results / FILE, "measure it with: seqsweep doctor --noise"
    noise = json_file.read_object(path, measure_it) if path.exists() else None
    share = f"{100 * delta:g} %"
    if noise is None or noise.get("machine") != identity():
        raise UsageError(
            f"a gate for {share} needs a quiet machine, and this one's noise is not known; {measure_it}"
        )
    alone = noise["regimes"][0]
    holds = alone["holds"]
    if holds is None or holds > delta:
        worst = max(alone["cases"], key=lambda case: case["spread"])
        limit = f"{100 * holds:g} %" if holds else "no slowdown up to 50 %"
        raise UsageError(
            f"{share} cannot be held here: equal sides spread by {100 * worst['spread']:.1f} % "
            f"({worst['case'].split('@')[0]}), so that {MAX_PAIRS} pairs hold {limit}; take that, or a "
            f"quieter machine, and {measure_it}"
        )
