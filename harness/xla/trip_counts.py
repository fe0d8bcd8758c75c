"""Trip counts of the loops of an optimised module.

XLA writes `known_trip_count` on the loops of cpu and cuda programs. libtpu (0.0.52) drops it; there the trip
count is derived from a counter's initial value, the step that the body adds, and the bound in the condition,
all of which must be constants.
"""

import re
from collections.abc import Iterator
from typing import Any

from harness.xla.constant_propagation import Carried, ComparedScalars, Scope
from harness.xla.hlo import STARTS, Graph, Instruction

KNOWN = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}


def count_trips(graph: Graph) -> dict[str, int | None]:
    """The trip count of each `while` reachable from the entry, by instruction name; None: not known."""
    counts: dict[str, int | None] = {}
    _walk(Scope(graph, graph.entry), counts)
    return counts


def _walk(scope: Scope, counts: dict[str, int | None]) -> None:
    for instruction in scope.computation.instructions.values():
        if instruction.opcode == "while":
            length = _trip_count(scope, instruction)
            # A computation that is called with different bounds has no single trip count.
            counts[instruction.name] = length if counts.get(instruction.name, length) == length else None
        for name, parameters in _inner(scope, instruction):
            _walk(Scope(scope.graph, name, parameters), counts)


def _inner(scope: Scope, instruction: Instruction) -> Iterator[tuple[str, list[Any]]]:
    """(computation, known values of its parameters) of what an instruction calls."""
    if instruction.opcode == "while":
        for role in ("body", "condition"):
            yield instruction.called[role][0], [scope.carried(instruction)]
    elif instruction.opcode == "conditional":
        yield from zip(
            instruction.branches, ([value] for value in scope.arguments(instruction)[1:]), strict=True
        )
    elif instruction.opcode in ("call", *STARTS):
        yield from ((name, scope.arguments(instruction)) for name in instruction.callees)


def _trip_count(scope: Scope, loop: Instruction) -> int | None:
    if known := KNOWN.search(loop.attributes):
        return int(known[1])
    start, step = scope.value(loop.operands[0]), scope.step(loop)
    if not isinstance(start, tuple) or not isinstance(step, tuple):
        return None
    inside = tuple(
        Carried(index) if value is None else value for index, value in enumerate(scope.carried(loop))
    )
    condition = Scope(scope.graph, loop.called["condition"][0], [inside]).result
    if not isinstance(condition, ComparedScalars):
        return None
    counter, bound, direction = condition.left, condition.right, condition.direction
    if isinstance(bound, Carried):
        counter, bound, direction = bound, counter, SWAPPED.get(direction, "")
    if not isinstance(counter, Carried) or not isinstance(bound, int):
        return None
    first, after = start[counter.index], step[counter.index]
    if not isinstance(first, int) or not isinstance(after, Carried) or after.index != counter.index:
        return None
    # The condition may compare the counter plus a constant, which shifts the initial value.
    return trip_count(first + counter.added, after.added, direction, bound)


def trip_count(first: int, added: int, direction: str, bound: int) -> int | None:
    """How many of first, first + added, … satisfy the comparison before one fails; None: not finite.

    >>> trip_count(1, 3, "LT", 100), trip_count(50, -2, "GE", 5), trip_count(9, 1, "LT", 9), trip_count(0, 0,
    "LT", 1) (33, 23, 0, None)
    """
    if direction in ("GT", "GE"):
        mirrored = {"GT": "LT", "GE": "LE"}[direction]
        return trip_count(-first, -added, mirrored, -bound)
    if direction == "NE":
        count, rest = divmod(bound - first, added) if added else (0, bound - first)
        return count if rest == 0 and count >= 0 else None
    if direction not in ("LT", "LE"):
        return None
    distance = bound - first + (direction == "LE")
    if distance <= 0:
        return 0
    return -(-distance // added) if added > 0 else None
