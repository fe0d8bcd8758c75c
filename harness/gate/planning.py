"""Planning of a gate: the selected cases, each with its counterpart at the base."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace

from harness.core.case import Case, matching_ids
from harness.core.errors import UsageError
from harness.core.scratch_folder import ScratchFolder
from harness.core.units import parse_share
from harness.gate.options import GateOptions
from harness.gate.plan import GatePlan, select_group
from harness.gate.sides.base import Base, base_of
from harness.gate.sides.matching import cases_of_same_code, counterpart
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.sweep import config as bench
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule, plan
from harness.sweep.settings import CASE, Accept
from harness.sweep.suite import Suite

DELTA, QUICK_DELTA = 0.05, 0.10
GATE_THREADS = "1"
QUICK_SECONDS = 30.0  # a gate this short has too few pairs for less than 10 %


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
    """The suites that have one of the cases. The others decide nothing about a gate."""
    selected = set(cases)
    return [suite for suite in schedule.suites if not selected.isdisjoint(suite.cases)]


def limit_threads(options: GateOptions, project: Project) -> GateOptions:
    """The options with one thread per case, unless a flag, the defaults or a selected suite says otherwise.

    Two processes that are measured side by side then do not need each other's cores.
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
    """The plan of the candidate alone: its base is not resolved yet."""
    schedule, cases = schedule_of(project, options)
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
        patterns=options.cases,
        deltas=_deltas(project, options, _selected_suites(schedule, running)),
        accepts=_accepts(project, schedule),
        notes=tuple(f"left out: {why}" for why in schedule.left_out),
    )


@contextmanager
def plan_of(project: Project, options: GateOptions) -> Generator[GatePlan]:
    """The plan of both sides. The base, checked out into a scratch folder, exists while the block runs."""
    gate_plan = plan_of_candidate(project, options)
    candidate = gate_plan.sides[CANDIDATE]
    if options.self_check:
        base = replace(candidate, name=BASE, description="the working tree again")
        yield replace(
            gate_plan,
            sides={CANDIDATE: candidate, BASE: base},
            opponents={case: case for case in gate_plan.opponents},
            self_check=True,
        )
        return
    path, wanted = project.config.path, {case.implementation for case in gate_plan.opponents}
    with (
        ScratchFolder("gate-") as folder,
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
        raise UsageError(
            f"no case of these suites has an opponent in {base.side.description}; name other suites"
        )
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
        notes=(*gate_plan.notes, *notes),
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
        changes = replace(options.overrides, plugins=brought)
        schedule = plan(config, base.side.catalog, suites, changes, installed=True)
    except UsageError as error:
        return (), (f"whether a case vanished cannot be told: the base's own schedule fails ({error})",)
    known = {case.id for case in opponents} | {case.id for case in opponents.values() if case}
    known |= set(gate_plan.left_out)
    only_base = {case.id for group in schedule.groups for case in group.cases} - known
    return tuple(case for case in sorted(only_base) if gate_plan.selects(case)), ()


def _deltas(project: Project, options: GateOptions, suites: Iterable[Suite]) -> dict[str, float]:
    """Δ of each of the suites: the flag's, else bench.yaml's, else the default for the budget."""
    default = QUICK_DELTA if options.budget_s < QUICK_SECONDS else DELTA
    if options.delta is not None:
        try:
            share = parse_share(options.delta)
        except ValueError as error:
            raise UsageError(f"--delta: {error}") from None
        if not 0 < share < 1:
            raise UsageError(f"--delta {options.delta}: a slowdown between 0 and 100 %, as 5%")
        return {suite.name: share for suite in suites}
    configured = {name: suite.gate.delta for name, suite in project.config.suites.items()}
    return {suite.name: configured.get(suite.name) or default for suite in suites}


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
    case_ids = matching_ids([pattern], ids, "--explain")
    if len(case_ids) != 1:
        raise UsageError(
            f'--explain: "{pattern}" means {len(case_ids)} cases; write one of them, as {case_ids[0]}'
        )
    return case_ids[0]
