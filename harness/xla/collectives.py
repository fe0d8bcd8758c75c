"""Collective operations of a program over several devices: how many, and the bytes that each results in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from harness.core.static_figures import Collective
from harness.xla.hlo import STARTS, Graph

OPS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
)
ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,<=]*)\]")

Tally = dict[str, tuple[int, int]]  # count and bytes by operation


def has_collective(text: str) -> bool:
    """Whether a module's text has a collective."""
    return re.search(rf" (?:{'|'.join(OPS)})(?:-start)?\(", text) is not None


def collectives(graph: Graph, lengths: Mapping[str, int | None]) -> tuple[Collective, ...]:
    """The collectives of one device's program, by operation.

    `bytes` is the size of the results, on one device. What stands in a loop counts once a turn
    (`lengths`, by the name of its `while`; None: once); of a conditional's branches, the most of any.
    """
    tally = _tally(graph, graph.entry, lengths)
    return tuple(Collective(op, count, size) for op, (count, size) in sorted(tally.items()))


def open_ended(graph: Graph, lengths: Mapping[str, int | None]) -> bool:
    """Whether a collective stands in a loop of unknown length."""
    # Counting a loop twice changes the result only where a collective stands in it.
    twice = {name: 2 if length is None else length for name, length in lengths.items()}
    return collectives(graph, twice) != collectives(graph, lengths)


def _tally(graph: Graph, name: str, lengths: Mapping[str, int | None]) -> Tally:
    total: Tally = {}
    for instruction in graph.computations[name].instructions.values():
        op = instruction.opcode.removesuffix("-done")  # of a pair, the second half has the result alone
        if op in OPS:
            _add(total, {op: (1, size_of(instruction.shape))})
        elif instruction.opcode == "conditional":
            _add(total, _most([_tally(graph, branch, lengths) for branch in instruction.branches]))
        else:
            turns = lengths.get(instruction.name) if instruction.opcode == "while" else 1
            runs = instruction.opcode in ("while", "call", "fusion", *STARTS)  # once, or once a turn
            for callee in instruction.callees if runs else ():
                _add(total, _tally(graph, callee, lengths), 1 if turns is None else turns)
    return total


def _most(branches: Sequence[Tally]) -> Tally:
    """The highest count and the most bytes of each operation; the two may be of different branches."""
    most: Tally = {}
    for op in set[str]().union(*branches):
        counts, sizes = zip(*(tally.get(op, (0, 0)) for tally in branches), strict=True)
        most[op] = (max(counts), max(sizes))
    return most


def _add(total: Tally, part: Tally, times: int = 1) -> None:
    for op, (count, size) in part.items():
        before = total.get(op, (0, 0))
        total[op] = (before[0] + times * count, before[1] + times * size)


def size_of(shape: str) -> int:
    """Bytes of a shape as HLO text writes it, summed over a tuple's arrays, without layouts' padding."""
    return sum(_array(*array) for array in ARRAY.findall(shape))


def _array(kind: str, sizes: str) -> int:
    elements = math.prod(int(size.removeprefix("<=")) for size in sizes.split(",") if size)
    return -(-elements * _bits(kind) // 8)


def _bits(kind: str) -> int:
    """Bits of one element: `pred` takes a byte, `token` none; `bf16`, `s4` and `f8e4m3fn` name theirs."""
    match = re.match(r"[a-z]+(\d+)", kind)
    if match is None:
        return 8 if kind == "pred" else 0
    return int(match[1])
