"""Mutation drill: small faults in harness/ and impls/, each with the test that found it.

    python -m tests.drill.mutations list            the faults: place, before → after, what found it
    python -m tests.drill.mutations try 7           one: its test, its module's tests, its room's
    python -m tests.drill.mutations try --all       is a fault missed that was found before?
    python -m tests.drill.mutations try --all --record    write what finds each into mutations.json

A fault is tried in a copy of the tree; the tree itself is never changed. The stored ones were drawn by
chance. A new one is an entry with the lines of a function before and after.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).with_suffix(".json")
NOTHING = "nothing"
STEP_S = 120  # the limit of a step
STARTED = re.compile(r"^(tests/\S+::.*?) *(?:[A-Z]+ +\[.*)?$", re.MULTILINE)  # what `pytest -v` names
FAST = "not full and not long"
LEFT_BEHIND = (".git", ".venv", "__pycache__", ".hypothesis", ".pytest_cache", ".ruff_cache", "runs")


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


def stored() -> list[Fault]:
    return [Fault(**values) for values in json.loads(STORED.read_text(encoding="utf-8"))]


def store(faults: list[Fault]) -> None:
    text = json.dumps([asdict(fault) for fault in faults], indent=1, ensure_ascii=False)
    STORED.write_text(text + "\n", encoding="utf-8")


def show(number: int, fault: Fault) -> str:
    place = fault.place(ROOT)
    where = f"{place[0].relative_to(ROOT)}:{place[1]}" if place else f"gone from {fault.file}:"
    before = "\n".join(f"      - {text}" for text in fault.before.splitlines())
    after = "\n".join(f"      + {text}" for text in fault.after.splitlines())
    head = f"{number:3} {where} {fault.function or 'module'} ({fault.kind}), found by {fault.killed_by}"
    return f"{head}\n{before}\n{after}"


def steps(fault: Fault, root: Path, path: Path) -> Iterator[list[str]]:
    """Tests in the order of their cost: what found the fault before, its module's, its room's.

    Of a module are the tests of its name, and those that import it; of an implementation, those that name it,
    after the tables of all.
    """
    if fault.killed_by and fault.killed_by.startswith("tests/"):
        yield from ([test] for test in dict.fromkeys((fault.killed_by, fault.killed_by.partition("[")[0])))
    room, stem = path.relative_to(root).parent, path.stem.strip("_")
    if room.parts[0] == "impls":
        family = room.parts[1] if room.parts[1:] else ""
        yield from (
            [f"tests/impls/test_{table}.py", "-k", word]
            for word, table in product((stem, f"{family}/"), ("refusals", "points", "kernels"))
        )
        folders = sorted((root / "tests/impls").glob(f"test_*{family}*.py"))
        module = [test for test in folders if mentions(test, rf"\b{stem}\b")]
    else:
        folder = root.joinpath("tests", *room.parts[1:])
        while not any(folder.rglob("test_*.py")):
            folder = folder.parent
        folders = [folder, root / "tests/cli"] if room.parts[1:] == ("commands",) else [folder]
        module = sorted([*folder.glob(f"test_{stem}.py"), *folder.glob(f"test_{stem}_*.py")])
        imported = rf"\b{re.escape('.'.join(room.parts))}(\.| import (.*\b)?){stem}\b"
        module += [test for test in sorted(root.glob("tests/**/test_*.py")) if mentions(test, imported)]
    for files in (module, folders):
        if files:
            yield list(dict.fromkeys(str(file.relative_to(root)) for file in files))


def mentions(file: Path, pattern: str) -> bool:
    return bool(re.search(pattern, file.read_text(encoding="utf-8")))


def failure(root: Path, tests: list[str], limit_s: float) -> str | None:
    """The first test that fails in the tree below `root`, or hangs; None where all of them pass."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    options = ["-p", "no:cacheprovider", "-n", "0", "-x", "-v"]
    if "::" not in "".join(tests):  # one that was found by its name may be `full`
        options += ["-m", FAST]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        last = STARTED.findall(output)[-1:]
        # Its time was up for all tests together: alone, a test that hangs does not end either.
        return last[0] if last and (tests == last or failure(root, last, STEP_S)) else None
    absent = re.search(r"^ERROR: .*not found: ", output, re.MULTILINE)  # a test, or its file, that is no more
    if process.returncode in {0, 5} or absent:  # 5: nothing was collected
        return None
    named = re.findall(r"^(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$", output, re.MULTILINE)
    crashed = STARTED.findall(output)[-1:]  # a test that ends pytest itself
    return next(iter(named or crashed), f"pytest ended with {process.returncode}")


class Drill:
    """Copies of the tree, in which faults are tried, each in one that is free."""

    def __init__(self, folder: Path, jobs: int):
        self.trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            tree = folder / f"tree{number}"
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_BEHIND), symlinks=True)
            self.trees.put(tree)

    def tried(self, fault: Fault) -> Fault | None:
        """The fault at its place of today, with the test that finds it; None where its text is gone."""
        root = self.trees.get()
        try:
            if not (place := fault.place(root)):
                return None
            path, start = place
            with fault.planted(path, start):
                every = steps(fault, root, path)
                failures = (failure(root, tests, STEP_S) for tests in every)
                found = next(filter(None, failures), NOTHING)
            return replace(fault, file=path.relative_to(root).as_posix(), killed_by=found)
        finally:
            self.trees.put(root)

    def failure_without_fault(self, tests: list[str]) -> str | None:
        root = self.trees.get()
        return failure(root, tests, limit_s=len(tests) * STEP_S) if tests else None


def try_faults(numbers: list[int], *, jobs: int, record: bool) -> int:
    """Prints what finds each, and the sums; 1 where one is missed that was found before."""
    faults, killers = stored(), set[str]()
    counts = dict.fromkeys(("killed", "not found", "not found before", "missed now", "gone"), 0)
    with tempfile.TemporaryDirectory(prefix="drill-") as folder, ThreadPoolExecutor(jobs) as pool:
        drill = Drill(Path(folder), jobs)
        trials = {pool.submit(drill.tried, faults[number - 1]): number for number in numbers}
        for trial in as_completed(trials):
            number, now = trials[trial], trial.result()
            before = faults[number - 1].killed_by
            answer = "gone"
            if now and now.killed_by:
                answer = "killed" if now.killed_by != NOTHING else "not found"
                if answer == "not found" and before not in {None, NOTHING}:
                    answer = "missed now"
                if now.killed_by.startswith("tests/"):
                    killers.add(now.killed_by)
                if record:
                    faults[number - 1] = now
                    store(faults)
            counts[answer] += 1
            counts["not found before"] += before == NOTHING
            print(f"{show(number, now or faults[number - 1])}\n    {answer}, before: {before}", flush=True)
        broken = drill.failure_without_fault(sorted(killers))
    print(", ".join(f"{name} {many}" for name, many in counts.items()))
    if broken:
        print(f"{broken} fails without a fault, too: what it found is not counted; mend it, and try again")
    return 1 if broken or counts["missed now"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the faults")
    trial = commands.add_parser("try", help="plant faults, and say which test finds each")
    trial.add_argument("numbers", nargs="*", type=int)
    trial.add_argument("--all", action="store_true")
    trial.add_argument("--record", action="store_true", help="write what finds each into mutations.json")
    trial.add_argument("--jobs", type=int, default=2, help="faults at a time (default: 2)")
    words = parser.parse_args()
    if words.command == "try":
        numbers = list(range(1, len(stored()) + 1)) if words.all else words.numbers
        return try_faults(numbers, jobs=words.jobs, record=words.record)
    print("\n".join(show(number, fault) for number, fault in enumerate(stored(), 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
