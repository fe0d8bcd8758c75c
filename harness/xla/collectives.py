"""Collective operations of a program over several devices: how many, and the bytes that each results in."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import reduce
from operator import or_

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

Tally = Counter[tuple[str, str]]  # by operation and `count` or `bytes`


def collectives(graph: Graph, lengths: Mapping[str, int | None]) -> tuple[Collective, ...]:
    """The collectives of one device's program, by operation.

    `bytes` is the size of the results, on one device. What stands in a loop counts once a turn
    (`lengths`, by the name of its `while`; None: once); of a conditional's branches, the most of any.
    """
    tally = _tally(graph, graph.entry, lengths)
    operations = sorted({op for op, _ in tally})
    return tuple(Collective(op, tally[op, "count"], tally[op, "bytes"]) for op in operations)


def open_ended(graph: Graph, lengths: Mapping[str, int | None]) -> bool:
    """Whether a collective stands in a loop of unknown length."""
    # Counting a loop twice changes the result only where a collective stands in it.
    twice = {name: 2 if length is None else length for name, length in lengths.items()}
    return collectives(graph, twice) != collectives(graph, lengths)


def _tally(graph: Graph, name: str, lengths: Mapping[str, int | None]) -> Tally:
    total = Tally()
    for instruction in graph.computations[name].instructions.values():
        op = instruction.opcode.removesuffix("-done")  # of a pair, the second half has the result alone
        if op in OPS:
            total.update({(op, "count"): 1, (op, "bytes"): size_of(instruction.shape)})
        elif instruction.opcode == "conditional":
            branches = [_tally(graph, branch, lengths) for branch in instruction.branches]
            total.update(
                reduce(or_, branches, Tally())
            )  # the most of each, which may be of different branches
        elif instruction.opcode in ("while", "call", "fusion", *STARTS):
            turns = lengths.get(instruction.name) if instruction.opcode == "while" else 1
            for callee in instruction.callees:
                inner = _tally(graph, callee, lengths)
                total.update({key: amount * (1 if turns is None else turns) for key, amount in inner.items()})
    return total


def size_of(shape: str) -> int:
    """Bytes of a shape as HLO text writes it, summed over a tuple's arrays, without layouts' padding."""
    return sum(_array(*array) for array in ARRAY.findall(shape))


def _array(kind: str, sizes: str) -> int:
    elements = math.prod(int(size.removeprefix("<=")) for size in sizes.split(",") if size)
    return -(-elements * bits(kind) // 8)


def bits(kind: str) -> int:
    """Bits of one element: `pred` takes a byte, `token` none; `bf16`, `s4` and `f8e4m3fn` name theirs."""
    match = re.match(r"[a-z]+(\d+)", kind)
    if match is None:
        return 8 if kind == "pred" else 0
    return int(match[1])
