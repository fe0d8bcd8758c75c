"""The plan of a gate: which cases, against which base, with which margins."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from harness.catalog.catalog import Catalog
from harness.core.case import Case, split_list
from harness.core.errors import UsageError
from harness.core.patterns import chosen, matches
from harness.core.record import state_bound
from harness.gate.options import GateOptions
from harness.gate.outcome import UNCHANGED, VANISHED, CaseVerdict
from harness.gate.sides.base import Base, base_of
from harness.gate.sides.matching import counterpart
from harness.gate.sides.same_code import SAME_CODE, cases_of_same_code
from harness.gate.sides.side import Side
from harness.gate.sides.temp_folder import locked_folder
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.sweep import config as bench
from harness.sweep.margins import CASE, Accept, accepted
from harness.sweep.project import Project
from harness.sweep.schedule import Group, Schedule, plan

DELTA, QUICK_DELTA = 0.05, 0.10
QUICK_SECONDS = 30.0  # a gate this short has too few pairs for less than 10 %


@dataclass(frozen=True)
class GatePlan:
    """The cases of a gate, and what each is compared with.

    `opponents` maps every case to measure to the base's; None: the base has none, and `new` says why.
    `same_code` are the cases, each with the base's, that need no measuring.
    `vanished` are the base's cases that the candidate lacks, `left_out` those that run nowhere.
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
        return self.sides[BASE].says if BASE in self.sides else ""

    @property
    def demoting(self) -> bool:
        """Whether an equal program on both sides makes a time advisory.

        Not in a self-check, where all programs are equal, nor under another interpreter, which may run the
        same program by other means.
        """
        base, candidate = self.sides[BASE], self.sides[CANDIDATE]
        return not self.self_check and base.interpreter == candidate.interpreter

    def measuring(self, cases: Collection[Case]) -> GatePlan:
        """The plan with these cases of the same code measured all the same."""
        measured = {case: theirs for case, theirs in self.same_code.items() if case in cases}
        rest = {case: theirs for case, theirs in self.same_code.items() if case not in cases}
        return replace(self, opponents={**self.opponents, **measured}, same_code=rest)

    def groups(self) -> tuple[Group, ...]:
        """The groups, reduced to the cases that are measured."""
        ids = {case.id for case in self.opponents}
        reduced = (_select_group(group, ids) for group in self.schedule.groups)
        return tuple(group for group in reduced if group.cases)

    def selects(self, case: str) -> bool:
        """Whether --cases, where it is given, matches the case."""
        return not self.patterns or any(matches(pattern, case) for pattern in self.patterns)

    def accept(self, case: str, figure: str) -> str | None:
        return accepted(case, figure, self.accepts)

    def bound_notes(self, case: Case) -> tuple[str, ...]:
        """How close the authors of a case's implementations, of both sides, say that they come."""
        pairs = [(self.sides[CANDIDATE], case), (self.sides.get(BASE), self.opponents.get(case))]
        infos = [
            (other.mode, side.catalog.implementations.get(other.implementation))
            for side, other in pairs
            if side is not None and other is not None
        ]
        sentences = [
            f"{info.id}: {words}"
            for mode, info in infos
            if info is not None
            for words in state_bound(info.bounds.get(mode, ""))
        ]
        return tuple(dict.fromkeys(sentences))

    def delta(self, case: Case) -> float:
        """The smallest Δ of the suites that have the case."""
        return min(self.deltas[suite.name] for suite in self.schedule.suites if case in suite.cases)


def schedule_of(project: Project, options: GateOptions) -> tuple[Schedule, list[Case], list[str]]:
    """(the schedule, reduced to the cases that --cases names; these cases; the patterns)."""
    schedule = project.plan(options.suites, options.overrides)
    everything = {case.id: case for suite in schedule.suites for case in suite.cases}
    patterns: list[str] = []
    for text in options.cases:
        # An id contains commas itself, so a comma separates patterns only where every part matches alone.
        parts = split_list(text)
        whole = any(matches(text, case_id) for case_id in everything)
        apart = all(any(matches(part, case_id) for case_id in everything) for part in parts)
        patterns += parts if apart and not whole else [text]
    ids = chosen(patterns, everything) if patterns else tuple(everything)
    selected = set(ids)
    groups = (_select_group(group, selected) for group in schedule.groups)
    skips = tuple(skip for skip in schedule.skips if skip.case.id in selected)
    part = replace(schedule, groups=tuple(group for group in groups if group.cases), skips=skips)
    return part, [everything[name] for name in ids], patterns


def _select_group(group: Group, selected: set[str]) -> Group:
    return replace(group, cases=tuple(case for case in group.cases if case.id in selected))


def plan_of_candidate(project: Project, options: GateOptions) -> GatePlan:
    """The plan of the candidate alone: the base is a file, or not resolved yet."""
    schedule, cases, patterns = schedule_of(project, options)
    skipped = {skip.case.id: skip.reason for skip in schedule.skips}
    running = [case for case in cases if case.id not in skipped]
    if not running:
        why = next((f" ({reason})" for reason in skipped.values()), "")
        raise UsageError(
            f"no case is left to compare{why}; see all cases with: seqsweep run --dry-run --json"
        )
    _refuse_mixed(schedule)
    return GatePlan(
        schedule=schedule,
        catalog=project.catalog,
        sides={CANDIDATE: Side(CANDIDATE, "the working tree", project.catalog)},
        opponents=dict.fromkeys(running),
        left_out=skipped,
        patterns=tuple(patterns),
        deltas=_deltas(project, options, schedule),
        accepts=_accepts(project, schedule),
    )


@contextmanager
def plan_of(project: Project, options: GateOptions) -> Generator[GatePlan]:
    """The plan of both sides; the base exists as long as the block."""
    gate_plan = plan_of_candidate(project, options)
    candidate = gate_plan.sides[CANDIDATE]
    if options.self_check:
        base = replace(candidate, name=BASE, says="the working tree again")
        yield replace(
            gate_plan,
            sides={CANDIDATE: candidate, BASE: base},
            opponents={case: case for case in gate_plan.opponents},
            self_check=True,
        )
        return
    path, wanted = project.config.path, {case.implementation for case in gate_plan.opponents}
    with (
        locked_folder() as folder,
        base_of(options.against, candidate, path, project.plugins, folder, wanted=wanted) as base,
    ):
        yield _with_base(gate_plan, base, project, options)


def _refuse_mixed(schedule: Schedule) -> None:
    """Refuse several devices or numbers of threads: one process holds all cases of a side."""
    for what, values in (
        ("devices", {case.device for group in schedule.groups for case in group.cases}),
        ("numbers of threads", {str(group.settings.threads) for group in schedule.groups}),
    ):
        if len(values) > 1:
            listed = ", ".join(sorted(values))
            raise UsageError(f"these suites ask for several {what} ({listed}); gate them one at a time")


def _with_base(gate_plan: GatePlan, base: Base, project: Project, options: GateOptions) -> GatePlan:
    candidate = gate_plan.sides[CANDIDATE]
    opponents: dict[Case, Case | None] = {}
    new: dict[str, str] = {}
    for case in gate_plan.opponents:
        opponent = counterpart(case, candidate, base.side)
        if isinstance(opponent, Case):
            opponents[case] = opponent
        elif opponent is not None:  # the sentence why the base has none
            opponents[case], new[case.id] = None, opponent
    if not opponents:
        raise UsageError(f"no case of these suites has an opponent in {base.side.says}; name other suites")
    vanished, notes = _vanished_cases(base, project, options, opponents, gate_plan)
    meant = {
        case: f"gone, which is accepted: {why}" for case in vanished if (why := gate_plan.accept(case, CASE))
    }
    same_code = {} if options.everything else cases_of_same_code(opponents, candidate, base.side)
    return replace(
        gate_plan,
        sides={CANDIDATE: candidate, BASE: base.side},
        opponents={case: theirs for case, theirs in opponents.items() if case not in same_code},
        new=new,
        same_code=same_code,
        vanished=tuple(case for case in vanished if case not in meant),
        left_out={**gate_plan.left_out, **meant},
        notes=notes,
    )


def _vanished_cases(
    base: Base,
    project: Project,
    options: GateOptions,
    opponents: Mapping[Case, Case | None],
    gate_plan: GatePlan,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the base's cases that the candidate lacks, notes on why this cannot be known)."""
    if not base.side.trees:
        return (), ()
    try:
        config = bench.load(base.config) if base.config else project.config
        suites = [name for name in options.suites if name in config.suites]
        if options.suites and not suites:
            return (), ()
        brought = tuple(name for name in project.brought if name in base.side.catalog.implementations)
        schedule = plan(config, base.side.catalog, suites, replace(options.overrides, plugins=brought))
    except UsageError as error:
        return (), (f"whether a case vanished cannot be told: the base's own schedule fails ({error})",)
    known = {case.id for case in opponents} | {case.id for case in opponents.values() if case}
    known |= set(gate_plan.left_out)
    only_base = {case.id for group in schedule.groups for case in group.cases} - known
    return tuple(case for case in sorted(only_base) if gate_plan.selects(case)), ()


def _deltas(project: Project, options: GateOptions, schedule: Schedule) -> dict[str, float]:
    """Δ of every suite: the flag's, else bench.yaml's, else the default for the budget."""
    from harness.core.units import parse_share

    default = QUICK_DELTA if options.budget_s < QUICK_SECONDS else DELTA
    if options.delta is not None:
        try:
            share = parse_share(options.delta)
        except ValueError as error:
            raise UsageError(f"--delta: {error}") from None
        if not 0 < share < 1:
            raise UsageError(f"--delta {options.delta}: a slowdown between 0 and 100 %, as 5%")
        return {suite.name: share for suite in schedule.suites}
    configured = {name: suite.gate.delta for name, suite in project.config.suites.items()}
    return {suite.name: configured.get(suite.name) or default for suite in schedule.suites}


def _accepts(project: Project, schedule: Schedule) -> tuple[Accept, ...]:
    suites = project.config.suites
    return tuple(
        accept
        for suite in schedule.suites
        if suite.name in suites
        for accept in suites[suite.name].gate.accept
    )


def single_match(pattern: str, ids: Iterable[str]) -> str:
    """The one case that the pattern of --explain matches. UsageError where it matches none, or several."""
    case_ids = chosen([pattern], ids, "--explain")
    if len(case_ids) != 1:
        raise UsageError(
            f'--explain: "{pattern}" means {len(case_ids)} cases; write one of them, as {case_ids[0]}'
        )
    return case_ids[0]


def unmeasured_verdicts(gate_plan: GatePlan) -> list[CaseVerdict]:
    """The verdicts that need no measuring: on equal code, and on cases that only the base has."""
    equal: list[CaseVerdict] = []
    for case in gate_plan.same_code:
        info = gate_plan.catalog.implementation(case.implementation)
        equal.append(
            CaseVerdict(case.id, UNCHANGED, SAME_CODE, file=info.file, line=info.line, same_code=True)
        )
    why = "the base has it, the candidate does not: bring it back, or narrow with --cases if it may go"
    return [*equal, *(CaseVerdict(case, VANISHED, why) for case in gate_plan.vanished)]
