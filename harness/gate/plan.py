"""The plan of a gate: which cases, against which base, with which margins; shown by `--dry-run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.catalog.catalog import Catalog
from harness.core.case import Case, matches
from harness.core.record import state_bound
from harness.core.units import format_seconds
from harness.gate.options import GateOptions
from harness.gate.outcome import UNCHANGED, VANISHED, CaseVerdict
from harness.gate.sides.matching import SAME_CODE
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.sweep.schedule import Group, Schedule
from harness.sweep.settings import Accept, why_accepted


@dataclass(frozen=True)
class GatePlan:
    """The cases of a gate, and what each is compared with.

    `opponents` maps each case to measure to its counterpart at the base, or to None with the reason in `new`.
    `same_code` maps cases that need no measuring to their counterparts. `vanished` are the base's cases
    that the candidate lacks, `left_out` those that run on neither side. `deltas` are the Δ of the suites that
    have one of the cases.
    """

    schedule: Schedule
    catalog: Catalog
    sides: Mapping[str, Side]
    opponents: Mapping[Case, Case | None]
    new: Mapping[str, str] = field(default_factory=dict[str, str])
    same_code: Mapping[Case, Case] = field(default_factory=dict[Case, Case])
    vanished: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    patterns: tuple[str, ...] = ()
    deltas: Mapping[str, float] = field(default_factory=dict[str, float])
    accepts: tuple[Accept, ...] = ()
    notes: tuple[str, ...] = ()
    self_check: bool = False

    @property
    def base(self) -> str:
        return self.sides[BASE].description if BASE in self.sides else ""

    @property
    def demotes_same_program(self) -> bool:
        """Whether a case that compiles to the same program on both sides is advisory, whatever its time.

        Not in a self-check, where all programs are equal, nor under another interpreter, whose runtime may
        run the same program differently.
        """
        base, candidate = self.sides[BASE], self.sides[CANDIDATE]
        return not self.self_check and base.interpreter == candidate.interpreter

    def groups(self) -> tuple[Group, ...]:
        """The groups, reduced to the cases that are measured."""
        ids = {case.id for case in self.opponents}
        reduced = (select_group(group, ids) for group in self.schedule.groups)
        return tuple(group for group in reduced if group.cases)

    def selects(self, case: str) -> bool:
        """Whether --cases, where it is given, matches the case."""
        return not self.patterns or any(matches(pattern, case) for pattern in self.patterns)

    def accept(self, case: str, figure: str) -> str | None:
        return why_accepted(case, figure, self.accepts)

    def bound_notes(self, case: Case) -> tuple[str, ...]:
        """The error bounds that the authors of the case's implementations state, on both sides."""
        sentences: list[str] = []
        for name, other in ((CANDIDATE, case), (BASE, self.opponents.get(case))):
            if other is not None and name in self.sides:
                info = self.sides[name].catalog.implementation(other.implementation)
                sentences += [f"{info.id}: {words}" for words in state_bound(info.bounds.get(other.mode, ""))]
        return tuple(dict.fromkeys(sentences))

    def verdict_on(
        self, case: Case, verdict: str, reason: str, notes: tuple[str, ...] = (), **more: Any
    ) -> CaseVerdict:
        """A verdict with the place and the bounds of the case's implementations."""
        info, bounds = self.catalog.implementation(case.implementation), self.bound_notes(case)
        place = {"file": info.file, "line": info.line}
        return CaseVerdict(case.id, verdict, reason, notes=(*notes, *bounds), **place, **more)

    def delta(self, case: Case) -> float:
        """The smallest Δ of the suites that have the case."""
        return min(self.deltas[suite.name] for suite in self.schedule.suites if case in suite.cases)


def select_group(group: Group, selected: set[str]) -> Group:
    """The group, reduced to the cases of these ids."""
    return replace(group, cases=tuple(case for case in group.cases if case.id in selected))


def unmeasured_verdicts(gate_plan: GatePlan) -> list[CaseVerdict]:
    """The verdicts that need no measuring: on equal code, and on cases that only the base has."""
    equal = [gate_plan.verdict_on(case, UNCHANGED, SAME_CODE, same_code=True) for case in gate_plan.same_code]
    why = "the base has it, the candidate does not: bring it back, or narrow with --cases if it may go"
    return [*equal, *(CaseVerdict(case, VANISHED, why) for case in gate_plan.vanished)]


def plan_data(plan: GatePlan, options: GateOptions) -> dict[str, Any]:
    """The plan for --json; `seconds_at_most` is None without a clock."""
    return {
        "base": plan.base,
        "measured": sorted(case.id for case in plan.opponents if case.id not in plan.new),
        "same_code": sorted(case.id for case in plan.same_code),
        "new": dict(plan.new),
        "vanished": list(plan.vanished),
        "left_out": dict(plan.left_out),
        "settings": {suite.name: suite.settings for suite in plan.schedule.suites},
        "deltas": {} if options.static else plan.deltas,
        "seconds_at_most": None if options.static else options.budget_s,
        "pairs_at_most": None if options.static else options.max_pairs,
    }


def plan_lines(data: dict[str, Any]) -> list[str]:
    """The plan in lines: a heading for each kind of case, and its ids below."""
    kinds = {
        "measured": "measured" if data["seconds_at_most"] else "compiled and verified on both sides",
        "same_code": "same code on both sides, not measured (--all measures them)",
        "new": "new, so without a verdict",
        "vanished": "vanished",
        "left_out": "left out",
    }
    lines = [f"the working tree against {data['base']}"]
    for key, heading in kinds.items():
        if data[key]:
            lines += ["", f"{heading}: {len(data[key])}", *(f"  {case}" for case in data[key])]
    lines.append("")
    for suite, settings in data["settings"].items():
        catches = f"Δ {100 * data['deltas'][suite]:g} %, " if suite in data["deltas"] else ""
        lines.append(f"{suite}: {catches}{settings.sentence}")
    seconds, pairs = data["seconds_at_most"], data["pairs_at_most"]
    if not data["measured"]:
        end = "nothing would be measured"
    elif seconds:
        end = f"at most {format_seconds(seconds, 2)} (--budget) and {pairs} pairs of processes (--max-pairs)"
    else:
        end = "no clock: the time is that of compiling both sides once"
    return [*lines, end]
