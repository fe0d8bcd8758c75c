"""The schedule of a run: its groups in order, and the cases that cannot run with their reasons."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.catalog.catalog import Catalog, ImplementationInfo
from harness.core.case import Case, split_id
from harness.core.errors import UsageError
from harness.core.grouped import collected, grouped
from harness.core.median_interval import LEVEL
from harness.sweep.config import Config, SuiteConfig
from harness.sweep.overrides import Overrides
from harness.sweep.select import Shard, leave_out_missing, select
from harness.sweep.settings import Settings
from harness.sweep.suite import Skip, Suite, apply_models, build, refuse_unknown_fields
from harness.sweep.yaml_nodes import Entry, Scalar, at


@dataclass(frozen=True)
class Group:
    """Cases that are measured together. `baselines` maps each case id to the ids of its baselines here.

    A case in several suites may have several baselines, or none if the baseline is not measured; a baseline
    is its own baseline. Sampling uses intervals at the level `confidence`. With `several_inputs` its cases do
    not share their inputs: each set of inputs has its own folder and references.
    """

    key: str
    cases: tuple[Case, ...]
    baselines: Mapping[str, tuple[str, ...]]
    settings: Settings
    confidence: float = LEVEL
    several_inputs: bool = False

    def inputs_of(self, case: Case) -> str:
        """The key of a case's inputs, equal for cases with the same inputs."""
        return case.group if self.several_inputs else self.key


@dataclass(frozen=True)
class Schedule:
    """The groups that a command measures, in order. With `shard`, only this machine's part of a sweep."""

    suites: tuple[Suite, ...]
    groups: tuple[Group, ...]
    skips: tuple[Skip, ...]
    implementations: Mapping[str, ImplementationInfo]
    replicates: int = 1
    shard: Shard | None = None
    left_out: tuple[str, ...] = ()  # sentences on what is left out, for example without torch

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases that are measured, each once, in the order of the groups."""
        return tuple(case for group in self.groups for case in group.cases)


def plan(
    config: Config, catalog: Catalog, names: Sequence[str], overrides: Overrides, *, installed: bool = False
) -> Schedule:
    """The schedule of the named suites (default: the default suites) with the overrides applied.

    Groups are ordered by suite, device, mode, other axes, and ascending length, so that the cost of a length
    is known before the next longer one. UsageError for anything unknown. With `installed`, implementations
    without an installed framework are left out.
    """
    overrides.check()
    chosen = select(config, catalog, names, overrides)
    grids, left_out = apply_models(chosen, catalog, overrides)
    if installed:
        grids, missing = leave_out_missing(grids, overrides)
        left_out += missing
    refuse_unknown_fields([grid.family for grid in grids], overrides)
    built = [build(grid, config.settings, overrides) for grid in grids]
    suites = _distinct([suite for suite, _ in built], names)
    skips = {skip.case.id: skip for _, impossible in built for skip in impossible}
    used = {variant.info.id: variant.info for grid in grids for variant in grid.variants}
    groups = _groups(suites, skips)
    whole = Schedule(suites, groups, tuple(skips.values()), used, overrides.replicates, left_out=left_out)
    if overrides.shard is None:
        return whole
    shard, most = Shard.parse(overrides.shard, identity(whole)), len(group_keys(whole))
    if shard.count > most:
        raise UsageError(f"--shard: this sweep has {most} groups; use at most {most} shards")
    return part_of(whole, shard)


def _distinct(suites: Sequence[Suite], names: Sequence[str]) -> tuple[Suite, ...]:
    """The suites without unnamed ones that the flags have made equal to an earlier suite."""
    known: set[tuple[str, tuple[Case, ...]]] = set()
    distinct: list[Suite] = []
    for suite in suites:
        meaning = suite.baseline, suite.cases
        if suite.name in names or meaning not in known:
            distinct.append(suite)
        known.add(meaning)
    return tuple(distinct)


def identity(whole: Schedule) -> dict[str, Any]:
    """The identity of a sweep in all its shards: everything but threads and memory, which machines set."""
    settings = [replace(suite.settings, threads=1, memory_bytes=1) for suite in whole.suites]
    suites = [replace(suite, settings=own) for suite, own in zip(whole.suites, settings, strict=True)]
    return {
        "suites": [asdict(suite) for suite in suites],
        "sources": {name: info.hash for name, info in whole.implementations.items()},
        "replicates": whole.replicates,
    }


def group_keys(whole: Schedule) -> tuple[str, ...]:
    """The groups that a sweep is cut into shards by, in its order, with groups of impossible cases."""
    return tuple(dict.fromkeys(case.group for suite in whole.suites for case in suite.cases))


def part_of(whole: Schedule, shard: Shard) -> Schedule:
    """The part of a whole sweep that belongs to a shard."""
    part = shard.part(group_keys(whole))
    suites = tuple(
        replace(suite, cases=tuple(case for case in suite.cases if case.group in part))
        for suite in whole.suites
    )
    groups = tuple(group for group in whole.groups if group.key in part)
    skips = tuple(skip for skip in whole.skips if skip.case.group in part)
    return replace(whole, suites=suites, groups=groups, skips=skips, shard=shard)


def interleave(schedule: Schedule, field: str, confidence: float) -> Schedule:
    """The schedule with groups that differ only in one workload field merged, so that they share rounds.

    Disturbances of the machine then affect all values of the field equally, like all implementations.
    """

    def all_else(group: Group) -> tuple[object, ...]:
        case = group.cases[0]
        fixed = tuple(pair for pair in case.workload if pair[0] != field)
        return case.family, fixed, case.mode, case.device, group.settings

    def join_groups(groups: Sequence[Group]) -> Group:
        cases = tuple(case for group in groups for case in group.cases)
        baselines = {case: ids for group in groups for case, ids in group.baselines.items()}
        return Group(groups[0].key, cases, baselines, groups[0].settings, confidence, len(groups) > 1)

    return replace(
        schedule,
        suites=tuple(replace(suite, interleaved=field) for suite in schedule.suites),
        groups=tuple(join_groups(groups) for groups in grouped(schedule.groups, all_else).values()),
    )


def suite_info(schedule: Schedule) -> dict[str, dict[str, Any]]:
    """The part of run.json that describes each suite, as plain data."""
    return {
        suite.name: {
            "family": suite.family,
            "axes": {name: list(values) for name, values in suite.axes.items()},
            "modes": list(suite.modes),
            "devices": list(suite.devices),
            "baseline": suite.baseline,
            "implementations": list(suite.implementations),
            "layers": suite.layers,
            "cases": [case.id for case in suite.cases],
            **({"models": [model.to_json() for model in suite.models]} if suite.models else {}),
            **({"interleaved": suite.interleaved} if suite.interleaved else {}),
        }
        for suite in schedule.suites
    }


def _groups(suites: Sequence[Suite], skipped: Collection[str]) -> tuple[Group, ...]:
    """The groups in the order of their first suite; lengths ascend, even in a series that suites share."""
    planned = ((suite, case) for suite in suites for case in suite.cases if case.id not in skipped)
    members = grouped(planned, lambda member: member[1].group)
    series = grouped(members, lambda key: _series(members[key][0][1]))
    lengths = {key: pairs[0][1].seq for key, pairs in members.items()}
    ordered = (key for keys in series.values() for key in sorted(keys, key=lengths.__getitem__))
    return tuple(_group(key, members[key]) for key in ordered)


def _series(case: Case) -> tuple[object, ...]:
    """A key that is equal for groups that differ only in sequence length."""
    rest = tuple(pair for pair in case.workload if pair[0] != "seq")
    return (case.family, rest, case.mode, case.device)


def _group(key: str, members: Sequence[tuple[Suite, Case]]) -> Group:
    """The group of these cases. UsageError if their suites disagree on its settings."""
    first, settings = members[0][0], members[0][0].settings
    for suite, _ in members[1:]:
        try:
            settings = settings.shared_with(suite.settings)
        except ValueError as error:
            raise UsageError(
                f"suites {first.name} and {suite.name} both measure {key}, but {error}; "
                "run them one at a time"
            ) from None
    cases = {case.id: case for _, case in members}
    baseline_in = {suite.name: case.id for suite, case in members if case.label == suite.baseline}
    baselines = collected((case.id, baseline_in[s.name]) for s, case in members if s.name in baseline_in)
    distinct = {case: tuple(dict.fromkeys(baselines.get(case, ()))) for case in cases}
    return Group(key, tuple(cases.values()), distinct, settings)


def schedule_cases(
    ids: Sequence[str], catalog: Catalog, config: Config, overrides: Overrides | None = None
) -> Schedule:
    """A suite for each case id; cases of one point share a group. UsageError if a case does not exist."""
    suites = {case: _suite(case) for case in ids}
    chosen = replace(config, default=tuple(suites), suites=suites)
    schedule = plan(chosen, catalog, (), overrides or Overrides())
    for suite in schedule.suites:
        if [case.id for case in suite.cases] != [suite.name]:
            raise UsageError(f"{suite.name}: this version has another id for it; use {suite.cases[0].id}")
    return schedule


def _suite(case: str) -> SuiteConfig:
    with at(case):
        parts = split_id(case)
    return SuiteConfig(
        name=case,
        where=case,
        family=Scalar.from_text(case, parts.label.partition("/")[0]),
        impls=(Scalar.from_text(case, parts.label),),
        axes={name: Entry(case, Scalar.from_text(case, value)) for name, value in parts.fields.items()},
        modes=(parts.mode,),
        devices=(parts.device,),
    )
