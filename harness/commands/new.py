"""`new`: a template file, with an implementation of a family or with a new family."""

import os
import re
import shlex
import sys
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template

from harness.catalog.catalog import FamilyInfo
from harness.catalog.known_frameworks import require_framework
from harness.catalog.source_hash import home_of, import_name
from harness.commands.output import print_note
from harness.core.errors import UsageError
from harness.store.atomic import write_files
from harness.sweep.project import Project

HERE = Path(__file__).parent
# In a built-in family's folder, and here for all others. Other frameworks have e.g. `triton.template`.
FILE = "implementation.template"
LENGTHS = "1Ki,4Ki"  # for a family without a suite


def write_new(
    project: Project,
    family: str | None,
    name: str | None,
    own: str | None,
    folder: Path,
    framework: str | None = None,
) -> tuple[Path, list[str]]:
    """Write NAME.py into the folder: (the file, the next commands). Nothing is overwritten.

    UsageError for an invalid or existing name. MachineError if the folder is not writable.
    """
    if framework:
        require_framework(framework)
    if own and not (family or name):
        return _write_family(project, own, folder)
    if family and name and not own:
        return _write_implementation(project, project.catalog.family(family), name, folder, framework)
    raise UsageError(
        f"write seqsweep new FAMILY NAME (families: {', '.join(project.catalog.families)}), "
        "or seqsweep new --family NAME for a new family"
    )


def _write_implementation(
    project: Project, family: FamilyInfo, name: str, folder: Path, framework: str | None
) -> tuple[Path, list[str]]:
    _require_free(name, f"{family.name}/{name}", project.catalog.implementations)
    file, home = Path(family.file), home_of(Path(family.file))
    others = project.catalog.of_family(family.name)
    template = _template(file.parent, framework)
    imports = f"from {import_name(file)} import {family.workload}"
    if str(home) not in {str(folder.resolve()), *sys.path}:
        imports = f"import sys\n\nsys.path.append({str(home)!r})\n{imports}"
    path = _write(
        folder,
        name,
        template,
        imports=imports,
        workload=family.workload,
        inputs=", ".join(family.inputs),
        framework=framework or (others[0].framework if others else "numpy"),
        semantics=family.semantics[0],
    )
    if framework and template.parent == HERE:
        print_note(f"{family.name} has no template in {framework}, so the file is only a skeleton")
    has_suite = any(suite.family.text == family.name for suite in project.config.suites.values())
    lengths = () if has_suite else ("--seq", LENGTHS)
    plugins = [word for plugin in (*project.given_plugins, str(path)) for word in ("--plugin", plugin)]
    return path, _next(f"{family.name}/{name}", family.name, (*plugins, *lengths), "--quick")


def _template(folder: Path, framework: str | None) -> Path:
    """The template in a family's folder for a framework, or a skeleton."""
    usual = folder / FILE if (folder / FILE).is_file() else HERE / FILE
    if framework is None or f'framework="{framework}"' in usual.read_text("utf-8"):
        return usual
    own = folder / f"{framework}.template"
    return own if own.is_file() else HERE / FILE


def _write_family(project: Project, name: str, folder: Path) -> tuple[Path, list[str]]:
    _require_free(name, name, project.catalog.families)
    workload = "".join(part.capitalize() for part in name.split("_")) + "Workload"
    path = _write(folder, name, HERE / "family.template", workload=workload)
    return path, _next(name, name, ("--plugin", str(path), "--seq", LENGTHS))


def _require_free(name: str, identity: str, known: Collection[str]) -> None:
    """UsageError for a name that is not an identifier, or is taken."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or iskeyword(name):
        raise UsageError(f'"{name}" is not a valid name for a Python function; use letters, digits and _')
    if identity in known:
        raise UsageError(f"{identity} is registered already; choose another name")
    found = find_spec(name)
    if found is not None and found.origin is not None:
        raise UsageError(f"{name}.py would hide the module {name} from other imports; choose another name")


def _write(folder: Path, name: str, template: Path, **values: str) -> Path:
    title = name.replace("_", " ").capitalize()
    text = Template(template.read_text("utf-8")).substitute(values, name=name, title=title)
    path = folder / f"{name}.py"
    if os.path.lexists(path):
        raise UsageError(f"{path} already exists; choose another name, or another folder with --out")
    write_files(folder, {path.name: text.encode()})
    return path


def _next(identity: str, family: str, flags: Sequence[str], *run: str) -> list[str]:
    check = ["seqsweep", "check", identity, *flags]
    return [shlex.join(check), shlex.join(["seqsweep", "run", "--family", family, *flags, *run])]
