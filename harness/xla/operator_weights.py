"""The heaviest operators of a TPU program, by the `estimated_cycles` that libtpu leaves in its module.

libtpu schedules by these estimates; they are not times. Many operators have none, among them some of the
slowest: in mask/scatter on a v5p (1024 rows, k 2048, 128Ki keys) neither the sort nor the scatter has one,
and all others together have 1.4e5 cycles, 80 µs, where writing the 512 MiB result alone takes 190 µs (libtpu
0.0.52). They only rank the operators, hence source lines, that have an estimate.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.core.paths import shown_path
from harness.core.static_figures import OperatorWeight
from harness.xla.hlo import STARTS, Computation, Graph, Instruction
from harness.xla.jaxlib_hlo import jaxlib_hlo

MOST = 8
ESTIMATE = re.compile(r'"estimated_cycles":"([1-9]\d*)"')
BRANCHING = ("call", "conditional", *STARTS)  # like `while`, counted by the computations that they call
NO_WORK = ("after-all", "bitcast", "constant", "get-tuple-element", "parameter", "tuple")
SECOND_HALVES = ("-done", "-update")  # of asynchronous operators, which count at their start

# The tables of source locations that precede the computations in XLA's text.
HEADING = re.compile(r"[A-Z]\w+$")
TABLES = {
    "FileNames": re.compile(r'(\d+) "(.*)"$'),
    "FileLocations": re.compile(r"(\d+) \{(?=.*\bfile_name_id=(\d+))(?=.*\bline=(\d+))"),
    "StackFrames": re.compile(r"(\d+) \{.*\bfile_location_id=(\d+)"),
}
FRAME = re.compile(r"metadata=\{[^}]*\bstack_frame_id=(\d+)")


def weights(
    modules: Sequence[Any], trip_counts: Mapping[str, int | None]
) -> tuple[tuple[OperatorWeight, ...], tuple[int, int]]:
    """(the operators with the largest estimates, (how many have an estimate, of how many)).

    `trip_counts` are by the name of the `while`. Empty unless there is exactly one module and it can be
    read; it is printed with metadata for this, which the program's hash leaves out.
    """
    try:
        (module,) = modules
        text = module.to_string(jaxlib_hlo().HloPrintOptions())
        return heaviest_operators(text, trip_counts)
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, RecursionError):
        return (), (0, 0)


def heaviest_operators(
    text: str, trip_counts: Mapping[str, int | None]
) -> tuple[tuple[OperatorWeight, ...], tuple[int, int]]:
    """The same as `weights`, from a module's text."""
    graph, places = Graph(text), Places(text)
    operators = [(operator, times) for _, operator, times in executed_operators(graph, trip_counts)]
    estimates = [
        (operator, int(match[1]), times)
        for operator, times in operators
        if (match := ESTIMATE.search(operator.attributes))
    ]
    total = sum(cycles * (times or 1) for _, cycles, times in estimates)
    estimates.sort(key=lambda entry: -entry[1] * (entry[2] or 1))
    heaviest = tuple(
        OperatorWeight(
            operator.name,
            operator.opcode,
            places.of(operator, graph),
            cycles,
            times,
            cycles * (times or 1) / total,
        )
        for operator, cycles, times in estimates[:MOST]
    )
    return heaviest, (len(estimates), len(operators))


def executed_operators(
    graph: Graph, trip_counts: Mapping[str, int | None]
) -> Iterator[tuple[Computation, Instruction, int | None]]:
    """(computation, operator, number of executions) of what the entry runs; None: number not known."""
    waiting: list[tuple[str, int | None]] = [(graph.entry, 1)]
    while waiting:
        name, times = waiting.pop()
        computation = graph.computations[name]
        for instruction in computation.instructions.values():
            if instruction.opcode == "while":
                trips = trip_counts.get(instruction.name)
                inner_times = None if times is None or trips is None else times * trips
                waiting += [(callee, inner_times) for callee in instruction.called["body"]]
            elif instruction.opcode in BRANCHING and instruction.called:
                waiting += [(callee, times) for callee in instruction.callees]
            elif instruction.opcode not in NO_WORK and not instruction.opcode.endswith(SECOND_HALVES):
                yield computation, instruction, times


class Places:
    """The source locations of a module's instructions."""

    def __init__(self, text: str) -> None:
        tables: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in TABLES}
        heading = ""
        for line in text.splitlines():
            if line.startswith(("%", "ENTRY ")):
                break
            if HEADING.match(line):
                heading = line
            elif heading in TABLES and (match := TABLES[heading].match(line)):
                tables[heading][match[1]] = match.groups()[1:]
        self.files, self.locations, self.frames = tables.values()

    def of(self, instruction: Instruction, graph: Graph) -> str:
        """`file:line` of an instruction; for a fusion without one, the most common of its instructions."""
        inside = [
            self._source_line(inner)
            for name in instruction.callees
            for inner in graph.computations[name].instructions.values()
        ]
        common = Counter(filter(None, inside)).most_common(1)
        return self._source_line(instruction) or (common[0][0] if common else "")

    def _source_line(self, instruction: Instruction) -> str:
        frame = FRAME.search(instruction.attributes)
        if frame is None or frame[1] not in self.frames:
            return ""
        (location,) = self.frames[frame[1]]
        if location not in self.locations:
            return ""
        file, line = self.locations[location]
        return f"{shown_path(*self.files[file])}:{line}" if file in self.files else ""
