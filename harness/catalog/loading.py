"""Load registered code, an importable module or a file given by its path, and find what it registers."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from harness.catalog.family import Family
from harness.catalog.implementation import Implementation
from harness.core.errors import UsageError


def load(source: str) -> ModuleType:
    """Import `pkg.module`, or a file when `source` ends in `.py`.

    A file is a module of its own; its folder joins the import path, so that it may have siblings.
    """
    if not source.endswith(".py"):
        return importlib.import_module(source)
    path = Path(source).resolve()
    name = f"seqsweep_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"plugin {source} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def implementations_in(module: ModuleType) -> list[Implementation]:
    """Each once, under however many names it stands there."""
    found = [value for value in vars(module).values() if isinstance(value, Implementation)]
    return list({id(value): value for value in found}.values())


def families_in(module: ModuleType) -> list[Family]:
    found = [value for value in vars(module).values() if isinstance(value, Family)]
    return list({id(value): value for value in found}.values())


def defined_twice(module: ModuleType) -> list[str]:
    """Names of a module's functions that a later one of the same name replaces."""
    path = getattr(module, "__file__", None)
    if not path or not path.endswith(".py"):
        return []
    body = ast.parse(Path(path).read_text()).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    return [name for name, count in Counter(names).items() if count > 1]


def family_of(implementation: Implementation) -> Family:
    """The family whose workload the builder annotates."""
    workload = implementation.workload_type()
    for _, family in _declared(workload):
        return family
    raise UsageError(
        f"{implementation.name}: no family has the workload {workload.__name__}; "
        "declare a Family beside that class"
    )


def module_of(family: Family) -> str:
    """The name of the module that declares a family."""
    for module, _ in _declared(family.workload):
        return module.__name__
    return family.workload.__module__


def _declared(workload: type) -> Iterator[tuple[ModuleType, Family]]:
    """The families of a workload, each with its module."""
    for module in _homes(workload):
        for family in families_in(module):
            if family.workload is workload:
                yield module, family


def _homes(workload: type) -> Iterator[ModuleType]:
    """Where the family may stand: with its workload, or in the `family.py` beside a `workload.py`."""
    own = sys.modules.get(workload.__module__)
    if own is None:
        return
    yield own
    file = Path(getattr(own, "__file__", None) or "")
    if file.name == "workload.py" and file.with_name("family.py").is_file():
        package = own.__name__.rpartition(".")[0]
        yield importlib.import_module(f"{package}.family" if package else "family")


def file_of(thing: Implementation | Family) -> Path:
    home = thing.builder if isinstance(thing, Implementation) else sys.modules[module_of(thing)]
    return Path(inspect.getfile(home)).resolve()


def line_of(implementation: Implementation) -> int:
    return inspect.getsourcelines(implementation.builder)[1]


def source_hash(implementation: Implementation, family: Family) -> str:
    """Hash of the code an answer depends on: the variant's file, its family's and workload's, kernels.

    Other variants of the family do not count, so that adding one leaves old records comparable.
    """
    variant, home = file_of(implementation), file_of(family)
    workload = Path(inspect.getfile(family.workload)).resolve()
    shared = {home, workload, variant, home.parent / "reference.py"}
    for folder in {home.parent, variant.parent}:
        shared |= set(folder.glob("_*.py")) | set((folder / "kernels").rglob("*.py"))
    digest = hashlib.sha256()
    for path in sorted(path for path in shared if path.is_file()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"sha256:{digest.hexdigest()}"
