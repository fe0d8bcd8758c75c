"""The plugin file through which a case's own process imports a callable of a test by its name."""

import sys
from pathlib import Path
from string import Template
from typing import Any

from harness.catalog.catalog import FamilyInfo
from harness.catalog.implementation import Implementation
from harness.catalog.known_frameworks import require_framework
from harness.catalog.source_hash import home_of, import_name
from harness.core.errors import UsageError, nearest
from harness.store.atomic import write_files

HERE = Path(__file__).parent


def write_import(folder: Path, target: Implementation) -> Path:
    """Write a plugin file that imports a decorated builder."""
    return _write(folder, target, sys.path)


def write_adapter(folder: Path, target: Any, family: FamilyInfo, framework: str, semantics: str) -> Path:
    """Write a plugin file that registers a plain callable. UsageError for unknown names."""
    _, name = _source_of(target)
    meaning = semantics or family.semantics[0]
    try:
        require_framework(framework)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    if meaning not in family.semantics:
        raise UsageError(f'{name}: unknown semantics "{meaning}"{nearest(meaning, family.semantics)}')
    file = Path(family.file)
    adapter = Template((HERE / "adapter.template").read_text("utf-8")).substitute(
        declared=import_name(file),
        workload=family.workload,
        name=name,
        framework=framework,
        semantics=meaning,
    )
    return _write(folder, target, [str(home_of(file)), *sys.path], adapter)


def show_source(target: Any, written: Path) -> Path:
    """The file to name on a command line: a builder's own, or for a plain callable the written one."""
    file, _ = _source_of(target)
    return file if isinstance(target, Implementation) else written


def _write(folder: Path, target: Any, path: list[str], adapter: str = "") -> Path:
    file, name = _source_of(target)
    folders = list(dict.fromkeys(filter(None, [str(home_of(file)), *path])))
    template = Template((HERE / "import.template").read_text("utf-8"))
    text = template.substitute(name=name, module=import_name(file), path=repr(folders)) + adapter
    return write_files(folder, {f"{name}.py": text.encode()})[0]


def _source_of(target: Any) -> tuple[Path, str]:
    """(file, name) of a callable or an implementation. UsageError where no other process could import it."""
    function = target.builder if isinstance(target, Implementation) else target
    name = getattr(function, "__qualname__", None) or repr(function)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if file is None or getattr(module, name, None) is not target:
        raise UsageError(
            f"{name}: a case runs in a process of its own, which imports it by file and name; "
            "define it at the top level of a file"
        )
    return Path(file).resolve(), name
