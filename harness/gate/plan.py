"""Plan of a gate: the cases, their counterparts at the base, and the margins."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from harness.catalog.catalog import Catalog
from harness.core.case import Case, matches, matching_ids
from harness.core.errors import UsageError
from harness.core.record import state_bound
from harness.core.scratch_folder import ScratchFolder
from harness.core.units import parse_share
from harness.gate.options import GateOptions
from harness.gate.outcome import UNCHANGED, VANISHED, CaseVerdict
from harness.gate.sides.base import Base, base_of
from harness.gate.sides.matching import SAME_CODE, cases_of_same_code, counterpart
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.sweep import config as bench
from harness.sweep.project import Project
from harness.sweep.schedule import Group, Schedule, plan
from harness.sweep.settings import CASE, Accept, why_accepted
from harness.sweep.suite import Suite

DELTA, QUICK_DELTA = 0.05, 0.10
GATE_THREADS = "1"
QUICK_SECONDS = 30.0  # a shorter gate has too few pairs to detect less than 10 %


@dataclass(frozen=True)
class GatePlan:
    """Cases of a gate and their counterparts.

    `counterparts` maps each case to measure to its counterpart at the base, or to None with the reason in
    `new`. `same_code` maps cases that are not measured to their counterparts. `vanished` are the base's cases
    that the candidate lacks, and `left_out` those that run on neither side. `deltas` are the Δ of the suites
    that have one of the cases.
    """

    schedule: Schedule
    sides: Mapping[str, Side]
    counterparts: Mapping[Case, Case | None]
    new: Mapping[str, str] = field(default_factory=dict[str, str])
    same_code: Mapping[Case, Case] = field(default_factory=dict[Case, Case])
    vanished: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    deltas: Mapping[str, float] = field(default_factory=dict[str, float])
    accepts: tuple[Accept, ...] = ()
    notes: tuple[str, ...] = ()
    self_check: bool = False

    @property
    def catalog(self) -> Catalog:
        return self.sides[CANDIDATE].catalog

    @property
    def base(self) -> str:
        return self.sides[BASE].description if BASE in self.sides else ""

    @property
    def demotes_same_program(self) -> bool:
        """Whether cases with the same compiled program on both sides are advisory.

        False in a self-check, where all programs are equal, and for another interpreter, where the runtime
        may run the same program differently.
        """
        base, candidate = self.sides[BASE], self.sides[CANDIDATE]
        return not self.self_check and base.interpreter == candidate.interpreter

    def groups(self) -> tuple[Group, ...]:
        """The groups, reduced to the cases that are measured."""
        ids = {case.id for case in self.counterparts}
        reduced = (select_group(group, ids) for group in self.schedule.groups)
        return tuple(group for group in reduced if group.cases)

    def accept(self, case: str, figure: str) -> str | None:
        return why_accepted(case, figure, self.accepts)

    def bound_notes(self, case: Case) -> tuple[str, ...]:
        """Error bounds stated by the authors of both sides' implementations."""
        sentences: list[str] = []
        for name, other in ((CANDIDATE, case), (BASE, self.counterparts.get(case))):
            if other is not None and name in self.sides:
                info = self.sides[name].catalog.implementation(other.implementation)
                sentences += [f"{info.id}: {text}" for text in state_bound(info.bounds.get(other.mode, ""))]
        return tuple(dict.fromkeys(sentences))

    def verdict_on(
        self, case: Case, verdict: str, reason: str, notes: tuple[str, ...] = (), **more: Any
    ) -> CaseVerdict:
        """A verdict with the source location and the stated bounds of the case's implementations."""
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
    """Verdicts that need no measurement: cases with the same code, and cases that only the base has."""
    equal = [gate_plan.verdict_on(case, UNCHANGED, SAME_CODE, same_code=True) for case in gate_plan.same_code]
    why = "the base has this case, the candidate does not; restore it, or exclude it with --cases"
    return [*equal, *(CaseVerdict(case, VANISHED, why) for case in gate_plan.vanished)]


def schedule_of(project: Project, options: GateOptions) -> tuple[Schedule, list[Case]]:
    """(the schedule, reduced to the cases that --cases matches; those cases)."""
    schedule = project.plan(options.suites, options.overrides)
    everything = {case.id: case for suite in schedule.suites for case in suite.cases}
    ids = matching_ids(options.cases, everything) if options.cases else tuple(everything)
    selected = set(ids)
    groups = (select_group(group, selected) for group in schedule.groups)
    skips = tuple(skip for skip in schedule.skips if skip.case.id in selected)
    part = replace(schedule, groups=tuple(group for group in groups if group.cases), skips=skips)
    return part, [everything[name] for name in ids]


def _selected_suites(schedule: Schedule, cases: Iterable[Case]) -> list[Suite]:
    """The suites that have one of the cases."""
    selected = set(cases)
    return [suite for suite in schedule.suites if not selected.isdisjoint(suite.cases)]


def limit_threads(options: GateOptions, project: Project) -> GateOptions:
    """The options with one thread per case, unless a flag, the defaults or a selected suite sets a number.

    The two processes of a pair then do not compete for cores.
    """
    settings, config = options.overrides.settings, project.config
    if "threads" in settings or "threads" in config.given:
        return options
    threaded = {name for name, suite in config.suites.items() if "threads" in suite.overrides}
    if threaded and any(s.name in threaded for s in _selected_suites(*schedule_of(project, options))):
        return options
    overrides = replace(options.overrides, settings={**settings, "threads": GATE_THREADS})
    return replace(options, overrides=overrides)


def plan_of_candidate(project: Project, options: GateOptions) -> GatePlan:
    """Plan of the candidate's side, before the base is resolved."""
    schedule, cases = schedule_of(project, options)
    skipped = {skip.case.id: skip.reason for skip in schedule.skips}
    running = [case for case in cases if case.id not in skipped]
    if not running:
        why = next((f" ({reason})" for reason in skipped.values()), "")
        raise UsageError(
            f"no case is left to compare{why}; list all cases with: seqsweep run --dry-run --json"
        )
    _refuse_mixed(schedule)
    return GatePlan(
        schedule=schedule,
        sides={CANDIDATE: Side(CANDIDATE, "the working tree", project.catalog)},
        counterparts=dict.fromkeys(running),
        left_out=skipped,
        deltas=_deltas(project, options, _selected_suites(schedule, running)),
        accepts=tuple(
            accept
            for suite in schedule.suites
            if suite.name in project.config.suites
            for accept in project.config.suites[suite.name].gate.accept
        ),
        notes=tuple(f"left out: {why}" for why in schedule.left_out),
    )


@contextmanager
def plan_of(project: Project, options: GateOptions) -> Generator[GatePlan]:
    """Plan of both sides, with the base checked out into a scratch folder while the block runs."""
    gate_plan = plan_of_candidate(project, options)
    candidate = gate_plan.sides[CANDIDATE]
    if options.self_check:
        base = replace(candidate, name=BASE, description="the working tree")
        yield replace(
            gate_plan,
            sides={CANDIDATE: candidate, BASE: base},
            counterparts={case: case for case in gate_plan.counterparts},
            self_check=True,
        )
        return
    path, wanted = project.config.path, {case.implementation for case in gate_plan.counterparts}
    with (
        ScratchFolder("gate-") as folder,
        base_of(options.against, candidate, path, project.plugins, folder, wanted=wanted) as base,
    ):
        yield _with_base(gate_plan, base, project, options)


def _refuse_mixed(schedule: Schedule) -> None:
    """Refuse several devices or thread counts, because one process runs all cases of a side."""
    for what, values in (
        ("devices", {case.device for group in schedule.groups for case in group.cases}),
        ("thread counts", {str(group.settings.threads) for group in schedule.groups}),
    ):
        if len(values) > 1:
            listed = ", ".join(sorted(values))
            raise UsageError(f"these suites use several {what} ({listed}); gate them one at a time")


def _with_base(gate_plan: GatePlan, base: Base, project: Project, options: GateOptions) -> GatePlan:
    candidate = gate_plan.sides[CANDIDATE]
    counterparts: dict[Case, Case | None] = {}
    new: dict[str, str] = {}
    for case in gate_plan.counterparts:
        theirs = counterpart(case, candidate, base.side)
        if isinstance(theirs, Case):
            counterparts[case] = theirs
        elif theirs is not None:  # the reason why the base has none
            counterparts[case], new[case.id] = None, theirs
    if not counterparts:
        raise UsageError(
            f"no case of these suites has a counterpart in {base.side.description}; name other suites"
        )
    known = {case.id for pair in counterparts.items() for case in pair if case} | {*gate_plan.left_out}
    vanished, notes = _vanished_cases(base, project, options, known)
    meant = {
        case: f"vanished, as accepted: {why}" for case in vanished if (why := gate_plan.accept(case, CASE))
    }
    same_code = {} if options.everything else cases_of_same_code(counterparts, candidate, base.side)
    return replace(
        gate_plan,
        sides={CANDIDATE: candidate, BASE: base.side},
        counterparts={case: theirs for case, theirs in counterparts.items() if case not in same_code},
        new=new,
        same_code=same_code,
        vanished=tuple(case for case in vanished if case not in meant),
        left_out={**gate_plan.left_out, **meant},
        notes=(*gate_plan.notes, *notes),
    )


def _vanished_cases(
    base: Base, project: Project, options: GateOptions, known: Collection[str]
) -> tuple[list[str], tuple[str, ...]]:
    """(the base's cases that are not in `known`, notes if they cannot be determined)."""
    if not base.side.trees:
        return [], ()
    try:
        config = bench.load(base.config) if base.config else project.config
        suites = [name for name in options.suites if name in config.suites]
        if options.suites and not suites:
            return [], ()
        plugins = tuple(name for name in project.added if name in base.side.catalog.implementations)
        changes = replace(options.overrides, plugins=plugins)
        schedule = plan(config, base.side.catalog, suites, changes, installed=True)
    except UsageError as error:
        return [], (f"vanished cases cannot be found: the base's schedule fails ({error})",)
    theirs = {case.id for group in schedule.groups for case in group.cases}.difference(known)
    patterns = options.cases or ("*",)
    return sorted(case for case in theirs if any(matches(pattern, case) for pattern in patterns)), ()


def _deltas(project: Project, options: GateOptions, suites: Iterable[Suite]) -> dict[str, float]:
    """Δ of each suite: from the flag, else from bench.yaml, else the default for the budget."""
    default = QUICK_DELTA if options.budget_s < QUICK_SECONDS else DELTA
    if options.delta is not None:
        try:
            share = parse_share(options.delta)
        except ValueError as error:
            raise UsageError(f"--delta: {error}") from None
        if not 0 < share < 1:
            raise UsageError(f"--delta {options.delta}: write a slowdown between 0 and 100 %, for example 5%")
        return {suite.name: share for suite in suites}
    configured = {name: suite.gate.delta for name, suite in project.config.suites.items()}
    return {suite.name: configured.get(suite.name) or default for suite in suites}


def single_match(pattern: str, ids: Iterable[str]) -> str:
    """The case that matches the pattern of --explain. UsageError if not exactly one case matches."""
    case_ids = matching_ids([pattern], ids, "--explain")
    if len(case_ids) != 1:
        raise UsageError(
            f'--explain: "{pattern}" matches {len(case_ids)} cases; write one, for example {case_ids[0]}'
        )
    return case_ids[0]
