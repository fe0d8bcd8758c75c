"""Schedule of a test: registers its callable in the catalog, and reads its keywords as a suite's keys."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from harness.catalog import discovery
from harness.catalog.catalog import Catalog, FamilyInfo
from harness.catalog.implementation import Implementation
from harness.catalog.known_frameworks import require_framework
from harness.catalog.loading import family_of
from harness.catalog.source_hash import home_of, import_name
from harness.core.case import label, split_label
from harness.core.errors import UsageError, nearest
from harness.core.workload import Value, canonical
from harness.store.atomic import write_files
from harness.sweep import settings as known_settings
from harness.sweep.axes import missing_fields
from harness.sweep.config import FILE, Config, suite_of
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import Schedule, plan
from harness.sweep.settings import Settings
from harness.sweep.yaml_nodes import Entry, Listing, Node, Scalar, YamlMapping, at

HERE = Path(__file__).parent


def write_import(folder: Path, target: Implementation) -> Path:
    """Write a plugin file that imports a decorated builder."""
    return _write(folder, target, sys.path)


def write_adapter(folder: Path, target: Any, family: FamilyInfo, framework: str, semantics: str) -> Path:
    """Write a plugin file that registers a plain callable. UsageError for unknown names."""
    _, name = _source_of(target)
    chosen = semantics or family.semantics[0]
    try:
        require_framework(framework)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    if chosen not in family.semantics:
        raise UsageError(f'{name}: unknown semantics "{chosen}"{nearest(chosen, family.semantics)}')
    file = Path(family.file)
    adapter = Template((HERE / "adapter.template").read_text("utf-8")).substitute(
        declared=import_name(file),
        workload=family.workload,
        name=name,
        framework=framework,
        semantics=chosen,
    )
    return _write(folder, target, [str(home_of(file)), *sys.path], adapter)


def _write(folder: Path, target: Any, path: list[str], adapter: str = "") -> Path:
    file, name = _source_of(target)
    folders = list(dict.fromkeys(filter(None, [str(home_of(file)), *path])))
    template = Template((HERE / "import.template").read_text("utf-8"))
    text = template.substitute(name=name, module=import_name(file), path=repr(folders)) + adapter
    return write_files(folder, {f"{name}.py": text.encode()})[0]


def _source_of(target: Any) -> tuple[Path, str]:
    """(file, name) of a callable or an implementation. UsageError if another process could not import it."""
    function = target.builder if isinstance(target, Implementation) else target
    name = getattr(function, "__qualname__", None) or repr(function)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if file is None or getattr(module, name, None) is not target:
        raise UsageError(
            f"{name} cannot be imported by a case's separate process; define it at the top level of a file"
        )
    return Path(file).resolve(), name


Target = Implementation | Callable[..., Any] | str
Values = Value | Sequence[Value]
KEYS = ("mode", "device", *known_settings.NAMES)  # of a suite, in addition to the family's fields


@dataclass(frozen=True)
class TargetInfo:
    """The implementation of a test, with the `options` in its name and its `plugins`."""

    catalog: Catalog
    implementation: str
    plugins: tuple[str, ...]
    options: Mapping[str, Value] = field(default_factory=dict[str, Value])

    @property
    def family(self) -> FamilyInfo:
        return self.catalog.family(self.implementation.split("/")[0])


def find_target(
    folder: Path,
    target: Target,
    family: str | None,
    *,
    framework: str = "",
    semantics: str = "",
    plugins: Sequence[str | Path] = (),
) -> TargetInfo:
    """Register the target: a name, a decorated builder, or a plain callable through a file in `folder`."""
    given = tuple(map(str, plugins))
    known = discovery.catalog(given)
    if isinstance(target, str):
        with at(target):
            base_name, name_options = split_label(target)
        return TargetInfo(known, known.implementation(base_name, family).id, given, dict(name_options))
    if isinstance(target, Implementation):
        written, name, home = write_import(folder, target), target.name, family or family_of(target).name
    elif not family or not framework:
        raise UsageError(
            "a callable without @implementation needs family= and framework=, for example "
            'check(f, "mask", framework="jax", semantics="exact", seq=4096)'
        )
    else:
        home = known.family(family).name
        written = write_adapter(folder, target, known.family(home), framework, semantics)
        name = written.stem
    everything = known.merged(discovery.plugin(str(written)))
    return TargetInfo(everything, everything.implementation(f"{home}/{name}").id, (*given, str(written)))


def plan_cases(target: TargetInfo, options: Mapping[str, Value], keywords: Mapping[str, Values]) -> Schedule:
    """The schedule of one suite with these keywords as keys: all combinations of the fields' values.

    UsageError for an unknown keyword (with the nearest name) or an invalid value.
    """
    family, where = target.family, target.implementation
    fields = [family.field(name).name for name in keywords if name not in KEYS]
    if absent := missing_fields(family, fields):
        raise UsageError(f"{where}: family {family.name} needs {' and '.join(absent)}; add {absent[0]}=…")
    written = {**keywords, "family": family.name, "impls": label(where, {**target.options, **options})}
    entries = {name: Entry(where, _node(where, values)) for name, values in written.items()}
    suite = suite_of(family.name, Entry(where, YamlMapping(where, entries)))
    config = Config(Path(FILE), Path.cwd(), (suite.name,), Settings(), (), {suite.name: suite})
    return plan(config, target.catalog, (), Overrides())


def check_ids(target: TargetInfo, checks: bool | str | Sequence[str]) -> tuple[str, ...] | None:
    """The checks to run, as `family/name`; None for all. UsageError for an unknown check."""
    if isinstance(checks, bool):
        return None if checks else ()
    family = target.family
    names = [name.split("/")[-1] for name in ([checks] if isinstance(checks, str) else checks)]
    for name in names:
        if name not in family.checks:
            raise UsageError(f'unknown check "{name}" of family {family.name}{nearest(name, family.checks)}')
    return tuple(f"{family.name}/{name}" for name in names)


def command_of(
    verb: str, target: TargetInfo, schedule: Schedule, keywords: Mapping[str, Values], checks: Sequence[str]
) -> list[str]:
    """The command line that runs the same cases of the same code, without a bench.yaml."""
    (suite,) = schedule.suites
    (name,) = suite.implementations
    flags = [("--plugin", plugin) for plugin in target.plugins]
    flags += [("--mode", ",".join(suite.modes)), ("--device", ",".join(suite.devices))]
    for axis, values in suite.axes.items():
        texts = ",".join(map(canonical, values))
        flags.append(("--seq", texts) if axis == "seq" else ("--set", f"{axis}={texts}"))
    flags += [(f"--{name}", str(keywords[name])) for name in known_settings.NAMES if name in keywords]
    arguments = (name, *checks) if verb == "check" else ("--impl", name)
    return ["seqsweep", verb, *arguments, *(word for flag in flags for word in flag)]


def _node(where: str, values: Values) -> Node:
    """A YAML node for one or several values."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        return Listing(where, tuple(Scalar.from_text(where, canonical(value)) for value in values))
    return Scalar.from_text(where, canonical(values))
