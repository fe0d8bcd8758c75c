"""bench.yaml as data. `plan` later checks its names of families, implementations and fields."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.catalog.loading import require_source
from harness.core.errors import UsageError
from harness.core.paths import PACKAGE
from harness.core.units import parse_count, parse_share
from harness.core.workload import DEVICES, MODES
from harness.sweep import settings as known_settings
from harness.sweep.settings import FIGURES, Accept, GateMargins, Settings
from harness.sweep.yaml_nodes import (
    Entry,
    Node,
    Scalar,
    YamlMapping,
    at,
    choices,
    items,
    read,
    scalar,
    scalars,
    table,
)

FILE = "bench.yaml"
TOP_KEYS = ("default", "defaults", "machines", "plugins", "suites")
POOL_KEYS = ("address", "accelerator", "labels")
MODEL_KEYS = ("model", "tp", "phase")
SUITE_KEYS = (
    *("family", "baseline", "impls", "mode", "device", "layers", "model", "tp", "delta", "accept"),
    *known_settings.NAMES,
)
ACCELERATOR = "ray.io/accelerator-type"  # Ray's label for the accelerator that it found on a node
_SUITE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class MachinePool:
    """The nodes of the Ray cluster at `address` that have all of these `labels`."""

    name: str
    address: str = "auto"
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class SuiteConfig:
    """One suite as written. `impls` None means all of the family. `axes` has every key not in SUITE_KEYS.

    `gate` has `delta` and `accept`; `layers` is the number of calls in a model's step. `where` is the suite's
    line, or the flag that made it. `models` has `model`, `tp` and `phase` if models give fields.
    """

    name: str
    where: str
    family: Scalar
    baseline: Node | None = None
    impls: tuple[Node, ...] | None = None
    axes: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    modes: tuple[str, ...] = MODES[:1]
    devices: tuple[str, ...] = DEVICES[:1]
    overrides: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    gate: GateMargins = field(default_factory=GateMargins)
    layers: int | None = None
    models: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict[str, tuple[Scalar, ...]])


@dataclass(frozen=True)
class Config:
    """bench.yaml. `home` is the folder of results/ and charts/. `plugins` are module names or absolute paths.

    `given` names the settings written under `defaults`, which take precedence over a command's defaults.
    `machines` are the pools that `--on` names.
    """

    path: Path
    home: Path
    default: tuple[str, ...]
    settings: Settings
    plugins: tuple[str, ...]
    suites: Mapping[str, SuiteConfig]
    given: frozenset[str] = frozenset()
    machines: Mapping[str, MachinePool] = field(default_factory=dict[str, MachinePool])


def load(path: Path, home: Path | None = None) -> Config:
    """Read a bench.yaml; `home` is by default its folder. UsageError: `bench.yaml:LINE: …`."""
    root = table(read(path), path.name)
    root.refuse_unknown(TOP_KEYS, "at the top level")
    suites = {name: suite_of(name, entry) for name, entry in root.section("suites").items()}
    named = root.entries.get("default")
    defaults = root.section("defaults")
    YamlMapping(path.name, defaults).refuse_unknown(known_settings.NAMES, "under defaults")
    return Config(
        path=path.absolute(),
        home=(home or path.parent).absolute(),
        default=choices(named.node, "default", tuple(suites)) if named else tuple(suites),
        settings=Settings().with_overrides({name: raw.text for name, raw in _settings_in(defaults).items()}),
        plugins=_plugins(root, path),
        suites=suites,
        given=frozenset(defaults),
        machines={name: _pool(name, entry) for name, entry in root.section("machines").items()},
    )


def suite_of(name: str, entry: Entry) -> SuiteConfig:
    """The suite that an entry describes. UsageError, with the place, if it is not a suite."""
    if not _SUITE_NAME.fullmatch(name):
        raise UsageError(
            f'{entry.where}: "{name}" cannot name a suite, because files are named after it; '
            "use letters, digits, _, - and ."
        )
    keys = table(entry.node, f"suite {name}").entries
    if "family" not in keys:
        raise UsageError(f"{entry.where}: suite {name} has no family; add family: …")

    modes = choices(keys["mode"].node, "mode", MODES) if "mode" in keys else MODES[:1]
    devices = choices(keys["device"].node, "device", DEVICES) if "device" in keys else DEVICES[:1]
    model_keys = [key for key in MODEL_KEYS if key in keys] if "model" in keys else []
    return SuiteConfig(
        name=name,
        where=entry.where,
        family=scalar(keys["family"].node, "family"),
        baseline=keys["baseline"].node if "baseline" in keys else None,
        impls=items(keys["impls"].node, "impls") if "impls" in keys else None,
        axes={key: axis for key, axis in keys.items() if key not in {*SUITE_KEYS, *model_keys}},
        modes=tuple(sorted(modes, key=MODES.index)),
        devices=devices,
        overrides=_settings_in(keys),
        gate=_margins(keys),
        layers=_layers(keys["layers"]) if "layers" in keys else None,
        models={key: scalars(keys[key].node, key) for key in model_keys},
    )


def _settings_in(keys: Mapping[str, Entry]) -> dict[str, Scalar]:
    """The settings among these keys, each checked so that an error names its line."""
    settings = {name: scalar(keys[name].node, name) for name in known_settings.NAMES if name in keys}
    for name, raw in settings.items():
        with at(raw.where):
            Settings().with_overrides({name: raw.text})
    return settings


def _layers(entry: Entry) -> int:
    """The number of calls in a model's step (`layers: 58`). UsageError unless it is a positive count."""
    raw = scalar(entry.node, "layers")
    with at(raw.where):
        count = parse_count(raw.text)
        if count < 1:
            raise ValueError(f"layers {raw.text}: must be at least 1")
    return count


def _margins(keys: Mapping[str, Entry]) -> GateMargins:
    """The margins of a suite's gate.

    delta: 5%                                                   # the smallest slowdown to detect
    accept:                                                     # the intended changes
      mask/scatter@*: writes whole rows, which TPUs need        # every figure of these cases
      "topk/two_stage[buckets=64,keep=2]@*":                    # this figure only; brackets need quotes
        temp_bytes: keeps both stages' candidates
      "mask/*rows=128*": {case: replaced by 32 rows}            # `case`: these cases may be removed
    """
    delta, accepts = None, list[Accept]()
    if "delta" in keys:
        raw = scalar(keys["delta"].node, "delta")
        with at(raw.where):
            delta = parse_share(raw.text)
            if delta == 1:
                raise ValueError(f'delta "{raw.text}" must be below 100 %, for example 5%')
    changes = table(keys["accept"].node, "accept").entries if "accept" in keys else {}
    for pattern, item in changes.items():
        if isinstance(item.node, YamlMapping):
            item.node.refuse_unknown(FIGURES, f"of accept {pattern}")
            figures = item.node.entries.items()
            accepts += [Accept(why.where, pattern, figure, _reason(why)) for figure, why in figures]
        else:
            accepts.append(Accept(item.where, pattern, None, _reason(item)))
    return GateMargins(delta, tuple(accepts))


def _reason(entry: Entry) -> str:
    """The text of a reason. UsageError for `true` or an empty value."""
    reason = entry.node.value if isinstance(entry.node, Scalar) else None
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(f"{entry.where}: accept needs a reason; write why the change is intended")
    return reason.strip()


def _plugins(root: YamlMapping, path: Path) -> tuple[str, ...]:
    """The plugins of bench.yaml: module names, and files as absolute paths."""
    named = root.entries.get("plugins")
    plugins: dict[str, None] = {}
    for item in scalars(named.node, "plugins") if named else ():
        name = item.text
        with at(item.where):
            require_source(name)
            if name.endswith(".py"):
                # Not resolved, because a link may change its target.
                name = os.path.abspath(path.parent / name)  # noqa: PTH100
                if not Path(name).is_file():
                    raise UsageError(f"plugin {item.text}: no such file; paths are relative to {path.name}")
        plugins[name] = None
    return tuple(plugins)


def _pool(name: str, entry: Entry) -> MachinePool:
    """The pool that an entry of `machines` describes. UsageError, with the place, if it is not a pool."""
    keys = table(entry.node, f"machines {name}")
    keys.refuse_unknown(POOL_KEYS, f"of machines {name}")
    given = {key: scalar(value.node, key).text for key, value in keys.entries.items() if key != "labels"}
    labels = {label: scalar(value.node, label).text for label, value in keys.section("labels").items()}
    if "accelerator" in given:
        labels[ACCELERATOR] = given["accelerator"]
    return MachinePool(name, given.get("address", MachinePool.address), labels)


def configuration(path: Path | None = None) -> Config:
    """Load the file of --config, else the nearest bench.yaml here or above, else the packaged one.

    With the packaged file, results/ and charts/ are in the current folder.
    """
    if path is not None:
        return load(path)
    nearest_file = above(Path.cwd())
    return load(nearest_file) if nearest_file else load(packaged_file(), home=Path.cwd())


def above(start: Path) -> Path | None:
    """The nearest bench.yaml in a folder or its parents; None without one."""
    folder = start.absolute()
    candidates = (place / FILE for place in (folder, *folder.parents))
    return next((path for path in candidates if path.is_file()), None)


def packaged_file() -> Path:
    """The bench.yaml in a wheel's package, or next to the package in a checkout."""
    for path in (PACKAGE / FILE, PACKAGE.parent / FILE):
        if path.is_file():
            return path
    raise UsageError(f"no {FILE} in this folder or its parents; write one, or use --config")
