"""What import-linter cannot see: the command line on top, lazy imports, and a light start."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PLACES = os.pathsep.join([str(ROOT), str(ROOT / "harness/entry")])
HEAVY = {"torch", "jax", "jaxlib", "ray", "pandas", "pyarrow", "matplotlib", "scipy", "numpy", "pydantic"}


def files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    """Top-level names of the packages that the given nodes import."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).split(".")[0])
    return names


def holds_kernels(path: Path) -> bool:
    """Whether a file, or its room, is of kernels, which builders load."""
    return any(part.startswith(("_triton_", "_numba_")) for part in path.parts)


def test_nothing_imports_the_command_line() -> None:
    for path in files("harness", "impls"):
        assert not {"cli", "seqsweep"} & imported(ast.walk(ast.parse(path.read_text()))), path


def test_importing_every_implementation_loads_no_framework_and_no_numpy() -> None:
    paths = [path for path in files("impls") if not holds_kernels(path)]
    modules = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    code = "import sys\n" + "".join(f"import {'.'.join(parts)}\n" for parts in modules)
    code += f"print(sorted({HEAVY} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "[]\n"


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared = {canonicalize_name(Requirement(line).name) for line in [*project["dependencies"], *extras]}
    distributions = packages_distributions()
    for path in [ROOT / "cli.py", *files("harness", "impls")]:
        for name in imported(ast.walk(ast.parse(path.read_text()))) - {"harness", "impls"}:
            owners = {canonicalize_name(owner) for owner in distributions.get(name, (name,))}
            assert name in sys.stdlib_module_names or owners & declared, f"{path} imports {name}"


REFERENCE = str(ROOT / "results/reference/20261123T205009Z-c7f20ab")
TRIVIAL = ["trivial", "--plugin", str(ROOT / "tests/faults/trivial.py"), "--seq", "64", "--budget", "5ms"]
COMMANDS = {
    "--help": (["--help"], HEAVY | {"rich", "yaml", "msgspec", "harness.core.record"}),
    "run -h": (["run", "-h"], HEAVY),
    "list": (["list"], HEAVY | {"msgspec", "harness.store", "harness.run", "harness.report.charts"}),
    "show": (["show", "--run", REFERENCE], HEAVY - {"numpy", "scipy"}),
    "compare": (["compare", REFERENCE, "--impl", "scatter,scatter_flat"], HEAVY - {"numpy", "scipy"}),
    "run": (["run", *TRIVIAL], HEAVY - {"numpy", "scipy"}),
}


@pytest.mark.parametrize(("arguments", "absent"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_loads_only_what_it_uses(arguments: list[str], absent: set[str], tmp_path: Path) -> None:
    (tmp_path / "bench.yaml").write_text("suites: {trivial: {family: trivial, seq: [64]}}\n")
    code = (
        "import json, sys, seqsweep\n"
        "sys.argv = ['seqsweep', *sys.argv[1:]]\n"
        "try: seqsweep.main()\n"
        "except SystemExit as end: status = end.code\n"
        "print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": PLACES, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    status, modules = json.loads(done.stderr.splitlines()[-1])
    assert status == 0, done.stderr[-2000:]
    assert any(word in done.stdout for word in ("scatter", "doctor", "trivial"))
    assert not absent & set(modules)


STARTS = {
    "import seqsweep": HEAVY | {"msgspec", "harness", "typer"},
    "from seqsweep import implementation": HEAVY | {"harness.store", "harness.frames"},
    "import harness.worker.fork_server, harness.worker.case_worker": {"pandas", "harness.store"},
    "from harness.catalog.known_frameworks import known, packages_of; packages_of(known())": HEAVY
    | {"harness.worker.frameworks.base", "harness.xla", "psutil"},
    "from seqsweep import FrameworkTraits": HEAVY | {"harness.catalog.face"},
    "import harness.commands.gate": {"pandas", "harness.frames"},
    "import harness.commands.run, harness.run.session": {"ray", "harness.machines", "pandas", "matplotlib"},
}


@pytest.mark.parametrize(("code", "absent"), STARTS.items(), ids=list(STARTS))
def test_who_wants_one_thing_does_not_load_another(code: str, absent: set[str]) -> None:
    words = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    loaded = subprocess.check_output(words, env={**os.environ, "PYTHONPATH": PLACES}, text=True)
    assert not absent & set(loaded.split())
