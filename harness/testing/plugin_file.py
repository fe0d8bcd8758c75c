"""The plugin file through which a case's own process finds a callable of a test: it imports it by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.catalog.catalog import FamilyInfo
from harness.catalog.implementation import FRAMEWORKS, Implementation
from harness.catalog.source_hash import home_of, import_name
from harness.core.errors import UsageError, nearest
from harness.store.atomic import write_files

# Behind the process's own import path comes the test's, so that what the test could import is found there.
IMPORTS = '''\
"""{name} of {module}, as a test names it."""

import sys

sys.path += {path!r}
{imports}
'''
BUILDER = """

@implementation(framework={framework!r}, semantics={semantics!r}, name={name!r})
def build(w: {workload}):
    return function
"""


def source_of(target: Any) -> tuple[Path, str]:
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


def write_import(folder: Path, implementation: Implementation) -> Path:
    """Write a plugin file that imports a decorated builder."""
    file, name = source_of(implementation)
    return _write(folder, file, name, f"from {import_name(file)} import {name}  # noqa: F401")


def write_adapter(folder: Path, target: Any, family: FamilyInfo, framework: Any, semantics: Any) -> Path:
    """Write a plugin file that registers a plain callable. UsageError for unknown names."""
    file, name = source_of(target)
    meaning = semantics or family.semantics[0]
    if framework not in FRAMEWORKS:
        raise UsageError(f'{name}: unknown framework "{framework}"{nearest(str(framework), FRAMEWORKS)}')
    if meaning not in family.semantics:
        raise UsageError(
            f'{name}: unknown semantics "{meaning}" of family {family.name}'
            f"{nearest(str(meaning), family.semantics)}; a meaning of one's own needs a decorated builder"
        )
    declared = Path(family.file)
    imports = (
        f"from {import_name(declared)} import {family.workload}\n"
        f"from {import_name(file)} import {name} as function\n"
        "from seqsweep import implementation"
    )
    values = {"framework": framework, "semantics": meaning, "name": name, "workload": family.workload}
    return _write(folder, file, name, imports, str(home_of(declared)), BUILDER.format(**values))


def _write(folder: Path, file: Path, name: str, imports: str, place: str = "", builder: str = "") -> Path:
    path = list(dict.fromkeys(filter(None, [str(home_of(file)), place, *sys.path])))
    text = IMPORTS.format(name=name, module=import_name(file), path=path, imports=imports) + builder
    return write_files(folder, {f"{name}.py": text.encode()})[0]
