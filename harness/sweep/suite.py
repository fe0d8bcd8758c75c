"""A suite of bench.yaml with its names resolved, and its cases after the flags are applied."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.catalog.family_questions import NotDerivableError
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.errors import UsageError, nearest
from harness.core.remedy import Remedy
from harness.core.workload import MODES, Value
from harness.sweep.axes import (
    Variant,
    all_of,
    axis,
    baseline,
    complete,
    expand,
    listed_variants,
    missing_fields,
    points,
    refuse_too_many,
)
from harness.sweep.config import SUITE_KEYS, SuiteConfig
from harness.sweep.model_points import ModelPoint, model_points
from harness.sweep.overrides import Overrides
from harness.sweep.settings import Settings
from harness.sweep.yaml_nodes import at, scalars

QUICK_LENGTHS = 2
QUICK_BUDGET = 0.1


@dataclass(frozen=True)
class SuiteAxes:
    """A suite of bench.yaml with its names resolved in the catalog, before any flag applies.

    `axes` has the fields that the suite gives, without those from defaults or flags. Fields of `models`
    replace the suite's.
    """

    suite: SuiteConfig
    family: FamilyInfo
    variants: tuple[Variant, ...]
    baseline: Variant
    axes: Mapping[str, list[Value]]
    models: tuple[ModelPoint, ...] = ()

    def narrowed(self, variants: Sequence[Variant]) -> "SuiteAxes":
        """The suite with these variants; the first one replaces a baseline that is not among them."""
        first = self.baseline if self.baseline in variants else variants[0]
        return replace(self, variants=tuple(variants), baseline=first)


@dataclass(frozen=True)
class Suite:
    """A planned suite, with its cases in measuring order, including those that cannot run.

    `axes` has every workload field with its values; if `models` give fields, it has the models instead.
    `baseline` and `implementations` are labels. Cases that differ only in the field `interleaved` share
    rounds.
    """

    name: str
    family: str
    axes: dict[str, list[Value]]
    modes: tuple[str, ...]
    devices: tuple[str, ...]
    baseline: str
    implementations: tuple[str, ...]
    cases: tuple[Case, ...]
    settings: Settings
    layers: int | None = None
    models: tuple[ModelPoint, ...] = ()
    interleaved: str = ""


@dataclass(frozen=True)
class Skip:
    """A case known to be unsupported before anything runs."""

    case: Case
    reason: str
    remedy: str = ""


def resolve_suite(suite: SuiteConfig, catalog: Catalog) -> SuiteAxes:
    """Resolve a suite's names. UsageError, with file, line and nearest name, for unknown names.

    A baseline that the suite does not list becomes its first variant, because a speedup needs both sides.
    """
    with at(suite.family.where):
        family = catalog.family(suite.family.text)
    axes = _written_axes(suite, family)
    if suite.impls is None:
        variants = all_of(catalog, family.name, suite.where)
    else:
        variants = listed_variants(catalog, family.name, suite.impls)
    first = variants[0]
    if suite.baseline is not None:
        first = baseline(catalog, family.name, suite.baseline, variants)
    if first not in variants:
        variants = (first, *variants)
    return SuiteAxes(suite, family, variants, first, axes)


def apply_models(
    grids: Sequence[SuiteAxes], catalog: Catalog, overrides: Overrides
) -> tuple[list[SuiteAxes], tuple[str, ...]]:
    """(the suites with their models, sentences on models from flags that a family does not have).

    NotDerivableError if no suite is left, and for such a model in bench.yaml.
    """
    remaining: list[SuiteAxes] = []
    lacking: list[NotDerivableError] = []
    for grid in grids:
        keys = {**grid.suite.models, **overrides.model_keys()}
        models, without = model_points(grid.family, keys, overrides.axes().keys())
        if without and "model" not in overrides.models:
            raise without[0]
        lacking += without
        if models or not without:
            remaining.append(_with_models(grid, models, catalog, overrides))
    reasons = dict.fromkeys(map(str, lacking))
    if grids and not remaining:
        raise NotDerivableError("; ".join(reasons))
    sentences = (why.removeprefix("--model: ").removesuffix("; leave the model out") for why in reasons)
    return remaining, tuple(sentences)


def _with_models(
    grid: SuiteAxes, models: tuple[ModelPoint, ...], catalog: Catalog, overrides: Overrides
) -> SuiteAxes:
    """The suite with these models, and the implementations of their semantics that can be planned.

    If the suite lists no such implementation, it gets all that the family has.
    """
    grid = replace(grid, models=models)
    if not models or overrides.impls:
        return grid
    variants, semantics = list(grid.variants), models[0].semantics
    if not semantics and not overrides.elsewhere:
        return grid
    every = all_of(catalog, grid.family.name, grid.suite.where)
    if semantics:
        listed, known = ([v for v in those if v.info.semantics in semantics] for those in (variants, every))
        variants = sorted(listed or known, key=lambda variant: semantics.index(variant.info.semantics))
    if overrides.elsewhere:
        planned = [variant for variant in variants if variant.is_planned_elsewhere]
        missing = {v.info.semantics for v in variants} - {v.info.semantics for v in planned}
        planned += [v for v in every if v.is_planned_elsewhere and v.info.semantics in missing]
        variants = planned or variants
    return grid.narrowed(variants)


def build(grid: SuiteAxes, base: Settings, overrides: Overrides) -> tuple[Suite, list[Skip]]:
    """The suite, and its cases that the family or the framework cannot run.

    UsageError, with the suite's line, if its axes make too many cases.
    """
    axes = _axes(grid, overrides)
    workloads = _workloads(grid, axes)
    if grid.models:  # they replace the fields that they give
        given = set[str]().union(*(model.fields for model in grid.models))
        rest = {name: values for name, values in axes.items() if name not in given}
        labels: list[Value] = [model.label for model in grid.models]
        axes = {"model": labels, **rest}
    modes = tuple(sorted(dict.fromkeys(overrides.modes or grid.suite.modes), key=MODES.index))
    devices = tuple(dict.fromkeys(overrides.devices or grid.suite.devices))
    lists = (*axes.values(), grid.variants, modes, devices)
    counts = (*map(len, lists), overrides.replicates)
    refuse_too_many(grid.suite.where, f"suite {grid.suite.name} has", counts)
    cases: list[Case] = []
    skips: list[Skip] = []
    members: dict[ModelPoint, list[str]] = {model: [] for model in grid.models}
    order = itertools.product(devices, modes, workloads, grid.variants)
    for device, mode, (point, models), variant in order:
        case = Case.of(variant.info.id, dict(variant.options), point, mode, device)
        cases.append(case)
        reaching = [model for model in models if model.beyond(case.seq) is None]
        for model in reaching:
            members[model].append(case.id)
        beyond = models[0].beyond(case.seq) if models and not reaching else None
        impossible = _impossible(grid.family, variant, mode, device)
        if reason := impossible or beyond:
            skips.append(Skip(case, reason, "" if impossible else Remedy.SHORTER))
    suite = Suite(
        name=grid.suite.name,
        family=grid.family.name,
        axes=axes,
        modes=modes,
        devices=devices,
        baseline=grid.baseline.label,
        implementations=tuple(variant.label for variant in grid.variants),
        cases=tuple(cases),
        settings=_settings(grid, base, overrides),
        layers=None if grid.models else grid.suite.layers,
        models=tuple(replace(model, cases=tuple(ids)) for model, ids in members.items()),
    )
    return suite, skips


def refuse_unknown_fields(families: Sequence[FamilyInfo], overrides: Overrides) -> None:
    """UsageError for a field that the selected families do not have."""
    known = {family.name: {field.name for field in family.fields} for family in families}
    everything = set[str]().union(*known.values())
    for name, values in overrides.axes().items():
        if name not in everything:
            where = f"family {next(iter(known))}" if len(known) == 1 else "any selected family"
            raise UsageError(
                f'{values[0].where}: unknown workload field "{name}" of {where}{nearest(name, everything)}'
            )


def _written_axes(suite: SuiteConfig, family: FamilyInfo) -> dict[str, list[Value]]:
    """The axes in bench.yaml. UsageError for a key that the family does not have."""
    names = [field.name for field in family.fields]
    if "seq" not in names:
        raise UsageError(
            f"{suite.family.where}: family {family.name} has no field seq, so nothing can be swept"
        )
    axes: dict[str, list[Value]] = {}
    for name, entry in suite.axes.items():
        if name not in names:
            known = (*names, *SUITE_KEYS)
            raise UsageError(
                f'{entry.where}: unknown key "{name}" of suite {suite.name}{nearest(name, known)}'
            )
        axes[name] = axis(family.field(name), scalars(entry.node, name))
    return axes


def _axes(grid: SuiteAxes, overrides: Overrides) -> dict[str, list[Value]]:
    """The axes of a suite, with values of flags, else of the suite, else defaults. UsageError without one."""
    names = {field.name for field in grid.family.fields}
    from_flags = {
        name: list(dict.fromkeys(v for raw in values for v in expand(grid.family.field(name), raw)))
        for name, values in overrides.axes().items()
        if name in names
    }
    given = [{*grid.axes, *from_flags, *model.fields} for model in grid.models]
    absent = missing_fields(grid.family, set.intersection(*given) if given else {**grid.axes, **from_flags})
    if absent:
        flags = " ".join("--seq N" if name == "seq" else f"--set {name}=VALUE" for name in absent)
        raise UsageError(
            f"{grid.suite.where}: {grid.suite.name} needs {' and '.join(absent)}; "
            f"add {flags}, or write them in bench.yaml"
        )
    axes = complete(grid.family, {**grid.axes, **from_flags})
    every = overrides.every_choice_of
    if every is not None and every not in from_flags and len(grid.axes.get(every, ())) < 2:
        choices = next((field.choices for field in grid.family.fields if field.name == every), ())
        if len(choices) < 2:
            raise UsageError(f"family {grid.family.name} has no workload field {every} with choices; add one")
        axes[every] = list(choices)
    if overrides.quick:
        axes["seq"] = axes["seq"][:QUICK_LENGTHS]
    return axes


def _workloads(
    grid: SuiteAxes, axes: Mapping[str, list[Value]]
) -> list[tuple[dict[str, Value], list[ModelPoint]]]:
    """Every distinct workload of the suite, with the models that it belongs to."""
    if not grid.models:
        return [(point, []) for point in points(grid.family, axes)]
    workloads: dict[tuple[tuple[str, Value], ...], tuple[dict[str, Value], list[ModelPoint]]] = {}
    for model in grid.models:
        own = {name: [value] for name, value in model.fields.items()}
        for point in points(grid.family, {**axes, **own}):
            workloads.setdefault(tuple(point.items()), (point, []))[1].append(model)
    return list(workloads.values())


def _settings(grid: SuiteAxes, base: Settings, overrides: Overrides) -> Settings:
    """The file's defaults, overridden by the suite's, then by flags. --quick shortens the file's budget."""
    settings = base.with_overrides({name: raw.text for name, raw in grid.suite.overrides.items()})
    if overrides.quick:
        settings = replace(settings, budget_s=settings.budget_s * QUICK_BUDGET)
    try:
        return settings.with_overrides(overrides.settings)
    except UsageError as error:
        raise UsageError(f"--{error}") from None


def _impossible(family: FamilyInfo, variant: Variant, mode: str, device: str) -> str | None:
    """Why a case cannot run on any machine; None if it can."""
    if mode not in family.modes:
        has = ", ".join(family.modes)
        return f"family {family.name} has no mode {mode}; use --mode with one of: {has}"
    devices = traits_of(variant.info.framework).devices
    if devices and device not in devices:
        framework, has = variant.info.framework, ", ".join(devices)
        return f"{framework} does not run on {device}; use --device with one of: {has}"
    return None
