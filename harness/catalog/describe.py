"""Read registered code and describe it as data.

The project's own implementations import no framework at their top and are read in this process.
A plugin may do anything when imported, so it is read in a child process:
`python -m harness.catalog.describe SOURCE` prints the description as JSON.
"""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.catalog.family import Family
from harness.catalog.implementation import Implementation
from harness.catalog.source import (
    families_in,
    family_of,
    file_of,
    implementations_in,
    line_of,
    load,
    source_hash,
)
from harness.spec.errors import SeqsweepError, UsageError, nearest
from harness.spec.workload import fields_of

PLUGIN_SECONDS = 60.0
ENTRY_POINTS = "seqsweep.implementations"


def describe_family(family: Family) -> FamilyInfo:
    return FamilyInfo(
        name=family.name,
        question=family.question,
        fields=fields_of(family.workload),
        semantics=tuple(family.semantics),
        modes=family.modes,
        file=str(file_of(family)),
        desk=next((s.framework for s in family.semantics.values() if s.framework != "numpy"), "numpy"),
    )


def describe_implementation(found: Implementation, source: str) -> ImplementationInfo:
    family = family_of(found)
    if found.semantics not in family.semantics:
        raise UsageError(
            f'{file_of(found)}:{line_of(found)}: unknown semantics "{found.semantics}" of family '
            f"{family.name}{nearest(found.semantics, family.semantics)}"
        )
    doc = inspect.getdoc(found.builder) or inspect.getdoc(inspect.getmodule(found.builder)) or ""
    return ImplementationInfo(
        id=f"{family.name}/{found.name}",
        framework=found.framework,
        semantics=found.semantics,
        options=found.options,
        sentence=doc.split("\n\n", 1)[0].replace("\n", " "),
        expects=found.expect.reason if found.expect else None,
        module=source,
        file=str(file_of(found)),
        line=line_of(found),
        hash=source_hash(found, family),
    )


def describe_module(module: ModuleType, source: str) -> Catalog:
    """All families and implementations that a module defines, or whose families it uses."""
    catalog = Catalog()
    for family in families_in(module):
        catalog = catalog.merged(Catalog({family.name: describe_family(family)}))
    for found in implementations_in(module):
        info = describe_implementation(found, source)
        family = family_of(found)
        one = Catalog({family.name: describe_family(family)}, {info.id: info})
        if info.id in catalog.implementations:
            raise UsageError(f"{info.file}: {info.id} is registered twice; rename one")
        catalog = catalog.merged(one)
    return catalog


def builtin() -> Catalog:
    """Every family under `impls/`: one folder each, one module per variant."""
    import impls

    catalog = Catalog()
    for family in pkgutil.iter_modules(impls.__path__):
        package = load(f"impls.{family.name}")
        for entry in pkgutil.iter_modules(package.__path__):
            if entry.ispkg or entry.name.startswith("_"):
                continue
            name = f"impls.{family.name}.{entry.name}"
            catalog = catalog.merged(describe_module(load(name), name))
    return catalog


def installed() -> list[str]:
    """Modules that installed packages offer under the entry-point group."""
    from importlib.metadata import entry_points

    return sorted({point.value for point in entry_points(group=ENTRY_POINTS)})


def plugin(source: str, seconds: float = PLUGIN_SECONDS) -> Catalog:
    """Describe a plugin (path or module) in a child process, whatever importing it does."""
    if source.endswith(".py") and not Path(source).is_file():
        raise UsageError(f"plugin {source}: no such file")
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "harness.catalog.describe", source]
    environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    try:
        child = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"plugin {source}: reading it took more than {seconds:.0f} s; "
            "move work from the module's top into the builders"
        ) from None
    if child.returncode:
        lines = child.stderr.decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"it ended with status {child.returncode}"
        raise UsageError(f"plugin {source} cannot be read: {why}")
    return Catalog.from_json(json.loads(child.stdout))


def catalog(plugins: Iterable[str] = ()) -> Catalog:
    """The project's own implementations, installed packages' and the given plugins'."""
    everything = builtin()
    for source in dict.fromkeys([*installed(), *plugins]):
        found = plugin(source)
        if not found.implementations and not found.families:
            raise UsageError(f"plugin {source} registers nothing; decorate a builder with @implementation")
        everything = everything.merged(found)
    return everything


def _main(source: str) -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the plugin prints while being imported is not the answer
    try:
        described = describe_module(load(source), source)
    except SeqsweepError as error:
        sys.exit(str(error))
    except SyntaxError as error:
        sys.exit(f"{error.filename}:{error.lineno}: {error.msg}")
    json.dump(described.to_json(), answer)
    answer.close()
    os._exit(0)  # a plugin's background threads must not hold the answer back


if __name__ == "__main__":
    _main(sys.argv[1])
