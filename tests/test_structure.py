"""What no single file shows: circles of imports, floors, sizes, and one name for two things.

An import counts wherever it stands: at the top, inside a function, under TYPE_CHECKING, and as
`import_module` of a name in quotes. What does not count: names that are computed (the framework that a
worker loads, the module that a catalog names), modules that a child process is started with, and that
a module's packages run before it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = 6
# Lines of code that a package may have, without blanks, comments and docstrings: what it has, rounded up.
# Whoever adds takes something away, here or elsewhere, and lowers the other ceiling.
CEILINGS = {
    "harness/__init__.py": 50,
    "harness/analysis": 1800,
    "harness/catalog": 1900,
    "harness/claims": 1200,
    "harness/collection": 300,
    "harness/commands": 2500,
    "harness/core": 1750,
    "harness/cubin": 200,
    "harness/entry": 100,
    "harness/findings": 1100,
    "harness/frames": 300,
    "harness/gate": 2800,
    "harness/machines": 300,
    "harness/profile": 650,
    "harness/report": 3950,
    "harness/run": 3200,
    "harness/store": 750,
    "harness/sweep": 1350,
    "harness/testing": 300,
    "harness/worker": 3650,
    "harness/xla": 1800,
    "impls": 11530,
    "impls/*/claims.py": 1950,
    "tests": 29990,
}
FILES = 318  # of harness/

# Names that several rooms of the harness have a file of, and what each is there. A room that is not
# listed has to find another name for its file.
SHARED = {
    "arrays": {"catalog": "their shapes and dtypes", "worker/frameworks/torch": "tensors of them"},
    "base": {"gate/sides": "the state compared with", "worker/frameworks": "what all of them can"},
    "compare": {"commands": "the command", "analysis": "two implementations of one run"},
    "compare_runs": {"analysis": "of two runs", "report/tables": "the table of it"},
    "framework": {
        "worker/frameworks/torch": "torch's",
        "worker/frameworks/jax": "jax's",
        "worker/frameworks/triton": "Triton's",
    },
    "max_seq": {"run/compile": "the search", "report/tables": "the table of it"},
    "model": {"claims": "a claim", "report/charts": "a chart"},
    "operators": {"profile": "a profile's list", "worker/frameworks/torch": "as torch's profiler tells them"},
    "options": {"commands": "of every command", "gate": "of the gate"},
    "output": {"commands": "of a run", "gate": "of a gate"},
    "report": {"claims": "of claims", "profile": "of profiles"},
    "run": {"commands": "the command", "gate/static": "of static gates", "gate/timed": "of timed ones"},
    "sampling": {"run/group": "of one group", "gate/timed": "of a pair of processes"},
    "scaling": {"analysis": "exponents and crossovers", "report/charts": "the chart of exponents"},
    "sensitivity": {"analysis": "its ratios", "commands": "the command"},
    "suite": {"sweep": "its cases", "report/tables": "its table"},
    "trace": {"worker/frameworks/torch": "over fake tensors", "worker/frameworks/jax": "of jax's profiler"},
    "wording": {"claims": "of claims", "gate/report": "of gates"},
}


def modules(root: Path) -> dict[str, Path]:
    """Dotted name → file; a package is its `__init__`."""
    found: dict[str, Path] = {}
    for folder in ("harness", "impls"):
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if path.stem == "__init__" else parts)] = path
    return found


def imports(path: Path, root: Path) -> Iterator[tuple[str, str]]:
    """(a, b) of each `from a import b`, with `a` written out; (a, "") of `import a`."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, "") for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = path.relative_to(root).parts[:-level] if level else ()
                base = ".".join([*above, *([module] if module else [])])
                yield from ((base, alias.name) for alias in names)
            case ast.Call(
                func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(name)), *_],
            ):
                yield name, ""


def graph(root: Path) -> dict[str, set[str]]:
    """Module → modules. What is imported from a package is its module of that name, else the package."""
    known = modules(root)
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        named = {f"{a}.{b}" if f"{a}.{b}" in known else a for a, b in imports(path, root)}
        found[name] = named & known.keys() - {name}
    return found


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle, in order; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def longest_chains(root: Path) -> dict[str, list[str]]:
    """Folder → its longest chain of modules that import each other, the highest first."""
    known, edges = modules(root), graph(root)
    below: dict[str, list[str]] = {}
    longest: dict[str, list[str]] = {}
    for name in TopologicalSorter(edges).static_order():
        beside = [other for other in edges[name] if known[other].parent == known[name].parent]
        below[name] = [name, *max((below[other] for other in sorted(beside)), key=len, default=[])]
        folder = str(known[name].parent.relative_to(root))
        longest[folder] = max(longest.get(folder, []), below[name], key=len)
    return longest


def test_no_import_leads_back() -> None:
    assert circle(graph(ROOT)) == []


def test_no_package_has_more_than_six_floors() -> None:
    """A package is a folder; one within it is a package of its own."""
    too_high = {folder: chain for folder, chain in longest_chains(ROOT).items() if len(chain) > FLOORS}
    assert too_high == {}


def test_no_two_classes_of_the_harness_share_a_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "harness").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_files_of_one_name_are_told_apart_by_their_rooms() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "harness").rglob("*.py")):
        if path.stem != "__init__":
            found[path.stem].add(str(path.parent.relative_to(ROOT / "harness")))
    shared = {name: rooms for name, rooms in found.items() if len(rooms) > 1}
    unexplained = {name: rooms - SHARED.get(name, {}).keys() for name, rooms in shared.items()}
    assert {name: rooms for name, rooms in unexplained.items() if rooms} == {}


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., dict[str, set[str]]]:
    def plant(**files: str) -> dict[str, set[str]]:
        (tmp_path / "harness" / "room").mkdir(parents=True)
        for name, text in {"__init__": "", **files}.items():
            (tmp_path / "harness" / "room" / f"{name}.py").write_text(text)
        return graph(tmp_path)

    return plant


@pytest.mark.parametrize(
    "back",
    [
        "from harness.room import low",
        "from .low import x",
        "def later():\n    from harness.room.low import x",
        "if TYPE_CHECKING:\n    from .low import X",
        "import importlib\ndef later():\n    importlib.import_module('harness.room.low')",
    ],
)
def test_every_kind_of_import_is_seen(planted: Callable[..., dict[str, set[str]]], back: str) -> None:
    edges = planted(low="from harness.room.high import y", high=back)
    assert edges["harness.room.high"] == {"harness.room.low"}
    assert set(circle(edges)) == {"harness.room.high", "harness.room.low"}


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(path: Path) -> int:
    """The lines of a file that hold code: no blanks, comments or docstrings."""
    text = path.read_text()
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            documented |= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), start=1)
    return sum(
        number not in documented and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in lines
    )


def package_of(path: Path) -> str:
    """`harness/worker` of harness/worker/frameworks/base.py; the folder of what is not in harness/."""
    if path.match("impls/*/claims.py"):
        return "impls/*/claims.py"
    return "/".join(path.relative_to(ROOT).parts[: 2 if path.is_relative_to(ROOT / "harness") else 1])


def test_no_package_is_larger_than_its_ceiling() -> None:
    sizes: dict[str, int] = defaultdict(int)
    for folder in ("harness", "impls", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            sizes[package_of(path)] += code_lines(path)
    assert {name: size for name, size in sizes.items() if size > CEILINGS.get(name, 0)} == {}


def test_the_harness_has_no_more_files_than_its_ceiling() -> None:
    assert len([*(ROOT / "harness").rglob("*.py")]) <= FILES


def test_lines_of_code_are_counted_without_blanks_comments_and_docstrings(tmp_path: Path) -> None:
    text = '"""Doc.\n\nMore."""\n\nx = """a\nb"""  # why\n\n# alone\ndef f():\n    """Doc."""\n    return x\n'
    (tmp_path / "a.py").write_text(text)
    assert code_lines(tmp_path / "a.py") == 4


SPEAKING = {
    "family", "implementation", "framework", "device", "reason", "timing", "correctness", "checks",
    "collectives", "memory", "cost", "schema", "passed", "profile", "warnings", "opcode",
}  # fmt: skip
DATA = [("harness/core/record.py", None), ("harness/core/static_figures.py", None)]
DATA += [(str(path.relative_to(ROOT)), "Workload") for path in sorted(ROOT.glob("impls/*/workload.py"))]


@pytest.mark.parametrize(("file", "suffix"), DATA)
def test_every_field_of_stored_data_and_workloads_says_what_it_is(file: str, suffix: str | None) -> None:
    """A comment behind the field, with its unit; words of the field that need none are in SPEAKING."""
    lines = (ROOT / file).read_text().splitlines()
    classes = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.ClassDef)]
    fields = [
        node
        for kind in classes
        if suffix is None or kind.name.endswith(suffix)
        for node in kind.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    bare = {node.target.id for node in fields if "  # " not in lines[(node.end_lineno or 0) - 1]}
    assert fields
    assert bare <= SPEAKING
