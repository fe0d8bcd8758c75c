"""Load registered code from a module or a file, and look up what it registers."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from types import ModuleType

from harness.catalog.family import Family
from harness.catalog.implementation import Implementation
from harness.catalog.source_hash import home_of, import_name
from harness.core.errors import Unsupported, UsageError


def require_source(source: str) -> None:
    """UsageError unless `source` may name a plugin: `a/file.py`, or `a.module`."""
    if not source.endswith(".py") and not all(part.isidentifier() for part in source.split(".")):
        raise UsageError(f"plugin {source} is not a .py file or a module name; write my.py or pkg.my")


def load(source: str) -> ModuleType:
    """Import `pkg.module`, or a file when `source` ends in `.py`.

    A file of a package is imported by its dotted name, so that its relative imports work. Any other becomes
    a separate module. The folder that its absolute imports start from is appended to the import path.
    """
    if not source.endswith(".py"):
        try:
            return importlib.import_module(source)
        except ModuleNotFoundError as error:
            if not f"{source}.".startswith(f"{error.name}."):
                raise  # `source` exists, but a module that it imports does not
            raise UsageError(f"No module named '{error.name}'; a file needs the suffix .py") from None
    path = Path(source).resolve()
    home, name = home_of(path), import_name(path)
    if home == path.parent or not all(part.isidentifier() for part in name.split(".")):
        home, name = path.parent, f"seqsweep_plugin_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    if str(home) not in sys.path:
        sys.path.append(str(home))
    top = name.partition(".")[0]
    first = path if top == name else home / top / "__init__.py"
    if top not in sys.modules:
        _execute(top, first)
    loaded = sys.modules[top].__file__
    if Path(loaded or "").resolve() != first.resolve():
        raise UsageError(
            f"{source} is the module {name}, but this process has another {top}, {loaded}; rename the package"
        )
    return importlib.import_module(name)


def _execute(name: str, file: Path) -> None:
    """Import a file, which may be a package's `__init__.py`, under a name without dots."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # re-raised, after removing the half-loaded module
        del sys.modules[name]
        raise


def implementations_in(module: ModuleType) -> list[Implementation]:
    """The implementations in a module's namespace, without duplicates."""
    implementations = [value for value in vars(module).values() if isinstance(value, Implementation)]
    return list({id(value): value for value in implementations}.values())


def families_in(module: ModuleType) -> list[Family]:
    families = [value for value in vars(module).values() if isinstance(value, Family)]
    return list({id(value): value for value in families}.values())


def family_of(implementation: Implementation) -> Family:
    """The family with the workload in the builder's annotation."""
    workload = implementation.workload_type()
    for _, family in _declaring_modules(workload):
        return family
    raise UsageError(
        f"{implementation.name}: no family has the workload {workload.__name__}; "
        "declare a Family in the module of that class"
    )


def family_called(module: ModuleType, name: str) -> Family:
    """The family of this name that a module declares, or that one of its implementations belongs to."""
    for family in chain(families_in(module), map(family_of, implementations_in(module))):
        if family.name == name:
            return family
    raise Unsupported(f"{module.__name__} no longer declares family {name}; see seqsweep list")


def module_of(family: Family) -> str:
    """The name of the module that declares a family."""
    for module, _ in _declaring_modules(family.workload):
        return module.__name__
    return family.workload.__module__


def _declaring_modules(workload: type) -> Iterator[tuple[ModuleType, Family]]:
    """(module, family) of every family declared for a workload."""
    for module in _homes(workload):
        for family in families_in(module):
            if family.workload is workload:
                yield module, family


def _homes(workload: type) -> Iterator[ModuleType]:
    """The modules that may declare the family: its workload's, or the `family.py` next to `workload.py`."""
    module = sys.modules.get(workload.__module__)
    if module is None:
        return
    yield module
    file = Path(getattr(module, "__file__", None) or "")
    if file.name == "workload.py" and file.with_name("family.py").is_file():
        package = module.__name__.rpartition(".")[0]
        yield importlib.import_module(f"{package}.family" if package else "family")


def file_of(thing: Implementation | Family) -> Path:
    home = thing.builder if isinstance(thing, Implementation) else sys.modules[module_of(thing)]
    return Path(inspect.getfile(home)).resolve()


def line_of(implementation: Implementation) -> int:
    """The line of the builder or its first decorator, from its code object, which is faster than inspect."""
    code = getattr(inspect.unwrap(implementation.builder), "__code__", None)
    return code.co_firstlineno if code else inspect.getsourcelines(implementation.builder)[1]
