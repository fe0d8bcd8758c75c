"""What libtpu expects of a program's operators: the `estimated_cycles` that it leaves in its module.

It plans by them, and they are no time. Many operators have none, among them some that take longest: of
mask/scatter's on a v5p (1024 rows, k 2048, 128Ki keys) neither the sort nor the scatter, and all others
together have 1.4e5 cycles, 80 µs, where writing its 512 MiB alone takes 190 µs (libtpu 0.0.52). What they
can say is which operator, hence which line, the compiler expects to weigh most among those it has weighed.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.core.paths import PROJECT
from harness.core.static_figures import OperatorWeight
from harness.xla.hlo import STARTS, Graph, Instruction

MOST = 8
ESTIMATE = re.compile(r'"estimated_cycles":"([1-9]\d*)"')
BRANCHING = ("call", "conditional", *STARTS)  # with `while` what is weighed by what it calls
NO_WORK = ("after-all", "bitcast", "constant", "get-tuple-element", "parameter", "tuple")
SECOND_HALVES = ("-done", "-update")  # of what a start has begun, and is counted with

# The tables of places above a module's computations, as XLA's text has them.
HEADING = re.compile(r"[A-Z]\w+$")
TABLES = {
    "FileNames": re.compile(r'(\d+) "(.*)"$'),
    "FileLocations": re.compile(r"(\d+) \{(?=.*\bfile_name_id=(\d+))(?=.*\bline=(\d+))"),
    "StackFrames": re.compile(r"(\d+) \{.*\bfile_location_id=(\d+)"),
}
FRAME = re.compile(r"metadata=\{[^}]*\bstack_frame_id=(\d+)")


def weights(
    modules: Sequence[Any], turns: Mapping[str, int | None]
) -> tuple[tuple[OperatorWeight, ...], tuple[int, int]]:
    """The operators that libtpu expects to weigh most, and how many it has weighed, of how many.

    `turns` is how often each loop turns, by the name of its `while`. Nothing, where the modules are not
    one that can be read: they are printed with metadata here, which a program's hash leaves out.
    """
    try:
        (module,) = modules
        text = module.to_string(importlib.import_module("jaxlib._hlo").HloPrintOptions())
        return weighed(text, turns)
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, RecursionError):
        return (), (0, 0)


def weighed(text: str, turns: Mapping[str, int | None]) -> tuple[tuple[OperatorWeight, ...], tuple[int, int]]:
    """The same of a module's text."""
    graph, places = Graph(text), Places(text)
    run = list(_run(graph, turns))
    found = [(one, int(match[1]), n) for one, n in run if (match := ESTIMATE.search(one.attributes))]
    total = sum(cycles * (n or 1) for _, cycles, n in found)
    found.sort(key=lambda entry: -entry[1] * (entry[2] or 1))
    heaviest = tuple(
        OperatorWeight(one.name, one.opcode, places.of(one, graph), cycles, n, cycles * (n or 1) / total)
        for one, cycles, n in found[:MOST]
    )
    return heaviest, (len(found), len(run))


def _run(graph: Graph, turns: Mapping[str, int | None]) -> Iterator[tuple[Instruction, int | None]]:
    """The operators of the entry and of what it runs, each with how often its loops turn; None: not known."""
    waiting: list[tuple[str, int | None]] = [(graph.entry, 1)]
    while waiting:
        name, times = waiting.pop()
        for one in graph.computations[name].instructions.values():
            if one.opcode == "while":
                length = turns.get(one.name)
                again = None if times is None or length is None else times * length
                waiting += [(callee, again) for callee in one.called["body"]]
            elif one.opcode in BRANCHING and one.called:
                waiting += [(callee, times) for names in one.called.values() for callee in names]
            elif one.opcode not in NO_WORK and not one.opcode.endswith(SECOND_HALVES):
                yield one, times


class Places:
    """Where in the source a module's instructions come from."""

    def __init__(self, text: str) -> None:
        found: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in TABLES}
        heading = ""
        for line in text.splitlines():
            if line.startswith(("%", "ENTRY ")):
                break
            if HEADING.match(line):
                heading = line
            elif heading in TABLES and (match := TABLES[heading].match(line)):
                found[heading][match[1]] = match.groups()[1:]
        self.files, self.locations, self.frames = found.values()

    def of(self, one: Instruction, graph: Graph) -> str:
        """`file:line`, of a fusion that has none the one that most of its inside has; empty: none."""
        inside = [
            self._source_line(part)
            for names in one.called.values()
            for name in names
            for part in graph.computations[name].instructions.values()
        ]
        common = Counter(filter(None, inside)).most_common(1)
        return self._source_line(one) or (common[0][0] if common else "")

    def _source_line(self, one: Instruction) -> str:
        frame = FRAME.search(one.attributes)
        if frame is None or frame[1] not in self.frames:
            return ""
        (location,) = self.frames[frame[1]]
        if location not in self.locations:
            return ""
        file, line = self.locations[location]
        return f"{_short(*self.files[file])}:{line}" if file in self.files else ""


def _short(file: str) -> str:
    """A path from the repository on, or a file's name alone: no machine's folders."""
    path = Path(file)
    if path.is_relative_to(PROJECT) and "site-packages" not in path.relative_to(PROJECT).parts:
        return path.relative_to(PROJECT).as_posix()
    return path.name
