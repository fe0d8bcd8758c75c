"""Mutation drill: thirty small faults in harness/ and impls/, each of which some test has to find.

    python tests/drill/mutations.py list            the faults: number, file, function, line, before → after
    python tests/drill/mutations.py try 7           one fault: its room's tests, then those of `make test`
    python tests/drill/mutations.py try --all --room-only
    python tests/drill/mutations.py draw            draw the faults anew into mutations.json

A fault is its file, its function and the text of its lines before and after, so that edits elsewhere do
not move it. It is tried in a copy of the tree; the tree itself is never changed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRAWN = Path(__file__).with_suffix(".json")
SEED = 20261122
MASKS = ("impls/attention", "impls/mask", "impls/offsets")
STATISTICS = ("harness/analysis", "harness/core/median_interval.py", "harness/gate/timed")
NOT_KERNELS = ("_checks", "__init__")
SHARES = (("masks", 5), ("statistics", 5), ("rooms", 20))
TURNED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
CACHES = ("cache", "lru_cache", "cached_property")
LONGEST_S = 900
FAST = "not full and not long"
LEFT_BEHIND = (".git", ".venv", "__pycache__", ".hypothesis", ".pytest_cache", ".ruff_cache", "runs")


@dataclass(frozen=True)
class Fault:
    kind: str
    file: str
    function: str
    before: str
    after: str

    def place(self) -> tuple[Path, int]:
        """The file and the number of the only line at which the fault stands."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        first, last = functions(ast.parse(text)).get(self.function, (1, 0))
        lines, wanted = text.splitlines(), self.before.splitlines()
        many = len(wanted)
        starts = [
            number
            for number in range(first, last - many + 2)
            if dedented(lines[number - 1 : number - 1 + many]) == wanted
        ]
        if len(starts) != 1:
            message = f"{self.file}, {self.function}: {len(starts)} places read\n{self.before}\ndraw again"
            raise LookupError(message)
        return ROOT / self.file, starts[0]

    def changed(self) -> str:
        """The file's text with the fault in it."""
        path, start = self.place()
        lines = path.read_text(encoding="utf-8").splitlines()
        indent = lines[start - 1][: len(lines[start - 1]) - len(lines[start - 1].lstrip())]
        changed = [indent + line if line else line for line in self.after.splitlines()]
        lines[start - 1 : start - 1 + len(self.before.splitlines())] = changed
        return "\n".join(lines) + "\n"


def dedented(lines: list[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).splitlines()


def functions(tree: ast.Module) -> dict[str, tuple[int, int]]:
    """Qualified name → its first and last line; the module is "". A name that stands twice is left out."""
    spans: dict[str, tuple[int, int]] = {
        "": (1, max((node.end_lineno or 0 for node in tree.body), default=0))
    }
    twice: set[str] = set()

    def enter(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = above
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{above}.{child.name}" if above else child.name
                if name in spans:
                    twice.add(name)
                spans[name] = (child.lineno, child.end_lineno or child.lineno)
            enter(child, name)

    enter(tree, "")
    return {name: span for name, span in spans.items() if name not in twice}


def living(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """The nodes that can change behaviour, each with the function that it stands in."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params", "type_comment"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or is_dead(child):
                continue
            inside = function
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inside = f"{function}.{child.name}" if function else child.name
            yield child, inside
            yield from living(child, inside)


def is_dead(node: ast.AST) -> bool:
    """Docstrings, `__all__`, what only type checkers read, sizes of caches, and texts with braces.

    The last are left out because Python 3.11 misplaces the nodes inside an f-string.
    """
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in {*CACHES, "TypeVar", "cast"}
        case _:
            return False


def changes(node: ast.AST, text: str) -> Iterator[tuple[str, str]]:
    """(kind, new text) of every fault that the node can have."""

    def source(part: ast.AST) -> str:
        return ast.get_source_segment(text, part) or ""

    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in TURNED:
            sign, turned = TURNED[type(op)]
            whole = source(node)
            middle = whole[len(source(left)) : len(whole) - len(source(right))]
            if middle.count(sign) == 1:
                yield "comparison", source(left) + middle.replace(sign, turned) + source(right)
        case ast.Constant(value=value) if type(value) in {int, float}:
            yield "constant", repr(value + 1)
            if value:
                yield "constant", repr(value - 1)
        case ast.BinOp(left=left, op=ast.Sub() | ast.Div() as op, right=right):
            texts = any(isinstance(c, ast.Constant) and isinstance(c.value, str) for c in ast.walk(node))
            if not texts and not any(isinstance(side, (ast.JoinedStr, ast.BinOp)) for side in (left, right)):
                sign = "-" if isinstance(op, ast.Sub) else "/"
                yield "operands", f"{source(right)} {sign} {source(left)}"
        case ast.If(body=[*_, ast.Raise() | ast.Return() | ast.Continue()], orelse=[]):
            yield "guard", "pass"
        case _:
            return


def faults(path: Path) -> Iterator[Fault]:
    """Every fault of a file."""
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    known = functions(tree)
    for node, function in living(tree):
        if function not in known:
            continue
        for kind, new in changes(node, text):
            first, last = node.lineno, node.end_lineno
            head = lines[first - 1].encode()[: node.col_offset].decode()
            tail = lines[last - 1].encode()[node.end_col_offset :].decode()
            if kind == "guard" and (head.strip() or tail.strip()):
                continue  # an `elif`, or more on its line
            before = dedented(lines[first - 1 : last])
            after = dedented((head + new + tail).splitlines())
            file = path.relative_to(ROOT).as_posix()
            yield Fault(kind, file, function, "\n".join(before), "\n".join(after))


def is_sound(fault: Fault) -> bool:
    """It stands at one place, and leaves Python, and another program than before."""
    try:
        changed = ast.parse(fault.changed())
    except (LookupError, SyntaxError):
        return False
    return ast.dump(changed) != ast.dump(ast.parse((ROOT / fault.file).read_text(encoding="utf-8")))


def is_of(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def draw() -> list[Fault]:
    """Thirty faults: ten in masks and statistics, one in each of twenty rooms, kinds as even as they come."""
    by_room: dict[str, list[Fault]] = defaultdict(list)
    for path in sorted([*(ROOT / "harness").rglob("*.py"), *(ROOT / "impls").rglob("*.py")]):
        for fault in faults(path):
            by_room[str(Path(fault.file).parent)].append(fault)
    every = [fault for room in by_room.values() for fault in room]
    kernels = [f for f in every if not Path(f.file).stem.startswith(NOT_KERNELS)]
    pools = {
        "masks": [[f for f in kernels if is_of(f.file, (room,))] for room in MASKS],
        "statistics": [[f for f in every if is_of(f.file, (place,))] for place in STATISTICS],
        "rooms": list(by_room.values()),
    }
    chance = random.Random(SEED)
    drawn: list[Fault] = []
    files: set[str] = set()
    for name, many in SHARES:
        rooms = pools[name]
        chance.shuffle(rooms)
        for number in range(many):
            room = [f for f in rooms[number % len(rooms)] if f.file not in files] or rooms[
                number % len(rooms)
            ]
            kind = chance.choice(sorted({fault.kind for fault in room}))
            candidates = [fault for fault in room if fault.kind == kind]
            fault = next(f for f in chance.sample(candidates, len(candidates)) if is_sound(f))
            files.add(fault.file)
            drawn.append(fault)
    return drawn


def stored() -> list[Fault]:
    return [Fault(**values) for values in json.loads(DRAWN.read_text(encoding="utf-8"))]


def show(number: int, fault: Fault) -> str:
    try:
        line = str(fault.place()[1])
    except LookupError:
        line = "moved away: draw again"
    before = "\n".join(f"      - {text}" for text in fault.before.splitlines())
    after = "\n".join(f"      + {text}" for text in fault.after.splitlines())
    return f"{number:3} {fault.file}:{line} {fault.function or 'module'} ({fault.kind})\n{before}\n{after}"


def tests_of(fault: Fault) -> list[str]:
    """The tests of the fault's room: those of the same folder, or of the family's name."""
    room = Path(fault.file).parent
    if room.parts[0] == "impls":
        family = f"test_{room.name}" if len(room.parts) > 1 else "test_conformance"
        return sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/impls").glob(f"{family}*.py"))
    folder = Path("tests", *room.parts[1:])
    while not any((ROOT / folder).rglob("test_*.py")):
        folder = folder.parent
    return [str(folder)]


def failure(root: Path, arguments: list[str]) -> str | None:
    """The first test that fails in the tree below `root`; None where all of them pass."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-p", "no:cacheprovider", "-x", "-q", "-n", "logical", "--maxprocesses", "8", "-m", FAST]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"did not end within {LONGEST_S} s"
    if process.returncode in {0, 5}:  # 5: nothing was collected
        return None
    lines = output.splitlines()
    named = [line for line in lines if line.startswith(("FAILED tests/", "ERROR tests/"))] or lines[-1:]
    return named[0] if named else f"pytest ended with {process.returncode}"


def attempt(fault: Fault, *, room_only: bool) -> str:
    """Which test finds the fault, in a copy of the tree."""
    with tempfile.TemporaryDirectory(prefix="drill-") as folder:
        root = Path(folder, "tree")
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*LEFT_BEHIND), symlinks=True)
        (root / fault.file).write_text(fault.changed(), encoding="utf-8")
        found = failure(root, tests_of(fault))
        if found or room_only:
            return f"its room: {found}" if found else "not found in its room"
        found = failure(root, [])
        return f"elsewhere: {found}" if found else "not found"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the faults")
    commands.add_parser("draw", help="draw them anew")
    trial = commands.add_parser("try", help="plant faults, and say which test finds each")
    trial.add_argument("numbers", nargs="*", type=int)
    trial.add_argument("--all", action="store_true")
    trial.add_argument("--room-only", action="store_true", help="the tests of the fault's room alone")
    words = parser.parse_args()
    if words.command == "draw":
        texts = [asdict(fault) for fault in draw()]
        DRAWN.write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    known = dict(enumerate(stored(), 1))
    if words.command != "try":
        print("\n".join(show(number, fault) for number, fault in known.items()))
        return 0
    missed = 0
    for number in known if words.all else words.numbers:
        answer = attempt(known[number], room_only=words.room_only)
        missed += answer.startswith("not found")
        print(f"{show(number, known[number])}\n    {answer}", flush=True)
    print(f"{missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
