"""A small fault in harness/ or impls/: how it is drawn, found again after code has moved, and planted."""

from __future__ import annotations

import ast
import os
import random
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

SEED = 20261128
SHARES = (("impls", 50), ("harness", 150))
TURNED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
CACHES = ("cache", "lru_cache", "cached_property")


@dataclass(frozen=True)
class Fault:
    """Lines of a function before and after. The file is where they were last seen: code may move."""

    kind: str
    file: str
    function: str
    before: str
    after: str
    killed_by: str | None = None  # a test; "nothing", where none found it; None, before it was tried

    def place(self, root: Path) -> tuple[Path, int] | None:
        """The file and the first line of the fault; None where its text is gone, or at several places."""
        own = root / self.file
        if own.is_file() and (starts := self.starts(own)):
            return (own, starts[0]) if len(starts) == 1 else None
        places = [(path, start) for path in sources(root) if path != own for start in self.starts(path)]
        return places[0] if len(places) == 1 else None

    def starts(self, path: Path) -> list[int]:
        """The lines of a file at which the text begins, in functions of the fault's name."""
        text, wanted = path.read_text(encoding="utf-8"), self.before.splitlines()
        if any(line.strip() not in text for line in wanted):
            return []
        lines, many = text.splitlines(), len(wanted)
        starts = {
            number
            for first, last in spans(ast.parse(text), self.function)
            for number in range(first, last - many + 2)
            if dedented(lines[number - 1 : number - 1 + many]) == wanted
        }
        return sorted(starts)

    def changed(self, path: Path, start: int) -> str:
        """The file's text with the fault in it."""
        lines = path.read_text(encoding="utf-8").splitlines()
        indent = lines[start - 1][: len(lines[start - 1]) - len(lines[start - 1].lstrip())]
        changed = [indent + line if line else line for line in self.after.splitlines()]
        lines[start - 1 : start - 1 + len(self.before.splitlines())] = changed
        return "\n".join(lines) + "\n"

    @contextmanager
    def planted(self, path: Path, start: int) -> Iterator[None]:
        """The file has the fault; afterwards its own bytes again, and its time: bytecode goes by that."""
        original, times = path.read_bytes(), path.stat()
        path.write_text(self.changed(path, start), encoding="utf-8")
        try:
            yield
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def is_sound(self, root: Path) -> bool:
        """It is at one place of all, and leaves Python, and another program than before."""
        places = [(path, start) for path in sources(root) for start in self.starts(path)]
        if len(places) != 1:
            return False
        path, start = places[0]
        try:
            changed = ast.parse(self.changed(path, start))
        except SyntaxError:
            return False
        return ast.dump(changed) != ast.dump(ast.parse(path.read_text(encoding="utf-8")))


def sources(root: Path) -> list[Path]:
    return sorted([*(root / "harness").rglob("*.py"), *(root / "impls").rglob("*.py")])


def dedented(lines: list[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).splitlines()


def spans(tree: ast.Module, name: str) -> list[tuple[int, int]]:
    """The first and the last line of each function or class of that name; "" is the module."""
    if not name:
        return [(1, max((node.end_lineno or 0 for node in tree.body), default=0))]
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name
    ]


def living(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """The nodes that can change behaviour, each with the function or class that it is in."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params", "type_comment"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or is_dead(child):
                continue
            inside = function
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inside = child.name
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


def faults(root: Path, path: Path) -> Iterator[Fault]:
    """Every fault of a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node, function in living(ast.parse(text)):
        for kind, new in changes(node, text):
            first, last = node.lineno, node.end_lineno
            head = lines[first - 1].encode()[: node.col_offset].decode()
            tail = lines[last - 1].encode()[node.end_col_offset :].decode()
            if kind == "guard" and (head.strip() or tail.strip()):
                continue  # an `elif`, or more on its line
            before = dedented(lines[first - 1 : last])
            after = dedented((head + new + tail).splitlines())
            file = path.relative_to(root).as_posix()
            yield Fault(kind, file, function, "\n".join(before), "\n".join(after))


def draw(root: Path, without: list[str]) -> list[Fault]:
    """One fault of each room of impls/ and harness/, the others of files by chance; no file has two."""
    chance = random.Random(SEED)
    drawn: list[Fault] = []
    for package, many in SHARES:
        known: dict[Path, list[Fault]] = {}
        for path in sources(root):
            file = path.relative_to(root).as_posix()
            if file.startswith(package) and not any(fnmatch(file, pattern) for pattern in without):
                known[path] = list(faults(root, path))
        files = chance.sample([path for path in known if known[path]], sum(map(bool, known.values())))
        one_of_each = {path.parent: path for path in files}.values()
        chosen = (choose(known[path], root, chance) for path in dict.fromkeys([*one_of_each, *files]))
        drawn += islice(filter(None, chosen), many)
    return drawn


def choose(every: list[Fault], root: Path, chance: random.Random) -> Fault | None:
    """A sound one, of a kind by chance: constants are most, and most of them are equal to no change."""
    kind = chance.choice(sorted({fault.kind for fault in every}))
    some = [fault for fault in every if fault.kind == kind]
    return next((fault for fault in chance.sample(some, len(some)) if fault.is_sound(root)), None)
