"""The question of a test as a schedule: its callable in the catalog, and keywords as a suite's axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.catalog import discovery
from harness.catalog.catalog import Catalog
from harness.catalog.implementation import Implementation
from harness.catalog.loading import family_of
from harness.core.case import label, split_label
from harness.core.errors import UsageError, nearest
from harness.core.workload import DEVICES, MODES, Value, canonical
from harness.sweep import settings as known_settings
from harness.sweep.axes import missing
from harness.sweep.config import FILE, Config, SuiteConfig
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import Schedule, plan
from harness.sweep.settings import Settings
from harness.sweep.yaml.nodes import Entry, Listing, Scalar, words
from harness.testing.plugin_file import source_of, write_adapter, write_import

Target = Implementation | Callable[..., Any] | str
Values = Value | Sequence[Value]


@dataclass(frozen=True)
class Asked:
    """What a test asks about. `plugins` are the files and modules that a command line would need for it."""

    catalog: Catalog
    implementation: str
    plugins: tuple[str, ...]


def find_target(
    folder: Path,
    target: Target,
    family: str | None,
    framework: str | None,
    semantics: str | None,
    plugins: Sequence[str | Path],
) -> Asked:
    """The target, registered: a decorated builder, a name, or a plain callable by a file in `folder`."""
    given = tuple(str(Path(name).absolute()) if str(name).endswith(".py") else str(name) for name in plugins)
    known = discovery.catalog(given)
    if isinstance(target, str):
        return Asked(known, known.implementation(split_label(target)[0], family).id, given)
    if isinstance(target, Implementation):
        own = family_of(target).name
        if family not in {None, own}:
            raise UsageError(f"{target.name}: its workload is that of family {own}, not of {family}")
        written = write_import(folder, target)
        file, _ = source_of(target)
        alone = not file.with_name("__init__.py").exists()
        name, shown = target.name, file if alone else written
    elif family is None or framework is None:
        raise UsageError(
            f"{source_of(target)[1]}: a callable without @implementation needs its family and its framework; "
            'write check(f, "mask", framework="jax", semantics="exact", seq=4096)'
        )
    else:
        own = known.family(family).name
        shown = written = write_adapter(folder, target, known.family(family), framework, semantics)
        name = written.stem
    everything = known.merged(discovery.plugin(str(written)))
    return Asked(everything, everything.implementation(f"{own}/{name}").id, (*given, str(shown)))


def plan_cases(
    asked: Asked, options: Mapping[str, Value], modes: Values, devices: Values, keywords: Mapping[str, Values]
) -> Schedule:
    """The schedule of one suite: every combination of the keywords that are fields; the others are settings.

    UsageError, with the nearest name, for a keyword that is neither, and for a value that does not fit.
    """
    family = asked.catalog.family(asked.implementation.split("/")[0])
    where = asked.implementation
    names = [name for name in keywords if name not in known_settings.NAMES]
    axes = {family.field(name).name: Entry(where, _listing(where, keywords[name])) for name in names}
    if absent := missing(family, axes):
        raise UsageError(f"{where}: family {family.name} needs {' and '.join(absent)}; give {absent[0]}=…")
    suite = SuiteConfig(
        name=family.name,
        where=where,
        family=Scalar.given(where, family.name),
        impls=(Scalar.given(where, label(where, options)),),
        axes=axes,
        modes=words(_listing(where, modes), "mode", MODES),
        devices=words(_listing(where, devices), "device", DEVICES),
        overrides={
            name: Scalar.given(where, canonical(value)) for name, value in _settings(keywords).items()
        },
    )
    config = Config(Path(FILE), Path.cwd(), (suite.name,), Settings(), (), {suite.name: suite})
    return plan(config, asked.catalog, (), Overrides())


def check_ids(asked: Asked, checks: bool | str | Sequence[str]) -> tuple[str, ...] | None:
    """The checks to make, as `family/name`; None for all. UsageError for one that does not exist."""
    if isinstance(checks, bool):
        return None if checks else ()
    family = asked.implementation.split("/")[0]
    known = asked.catalog.family(family).checks
    names = [name.removeprefix(f"{family}/") for name in ([checks] if isinstance(checks, str) else checks)]
    for name in names:
        if name not in known:
            raise UsageError(f'unknown check "{name}" of family {family}{nearest(name, known)}')
    return tuple(f"{family}/{name}" for name in names)


def command_of(
    verb: str, asked: Asked, schedule: Schedule, keywords: Mapping[str, Values], checks: Sequence[str] = ()
) -> list[str]:
    """The command line that asks the same of the same code, whatever the bench.yaml beside it says."""
    (suite,) = schedule.suites
    (name,) = suite.implementations
    command = ["seqsweep", verb, *((name, *checks) if verb == "check" else ("--impl", name))]
    for plugin in asked.plugins:
        command += ["--plugin", plugin]
    for flag, values in (("--mode", suite.modes), ("--device", suite.devices)):
        command += [flag, ",".join(values)]
    for field, values in suite.axes.items():
        flag = ["--seq", ""] if field == "seq" else ["--set", f"{field}="]
        command += [flag[0], flag[1] + ",".join(map(canonical, values))]
    for setting, value in _settings(keywords).items():
        command += [f"--{setting}", canonical(value)]
    return command


def _settings(keywords: Mapping[str, Values]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if name in known_settings.NAMES}


def _listing(where: str, values: Values) -> Listing:
    """One value or several, as a suite would have them written."""
    several = values if isinstance(values, Sequence) and not isinstance(values, str) else (values,)
    return Listing(where, tuple(Scalar.given(where, canonical(value)) for value in several))
