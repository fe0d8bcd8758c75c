"""Collective operations of a program over several devices: their number, and the bytes of their results."""

import math
import re
from collections import Counter
from collections.abc import Mapping

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


def collectives(graph: Graph, trip_counts: Mapping[str, int | None]) -> tuple[Collective, ...]:
    """The collectives of one device's program, by operation; `bytes` is the size of the results there.

    A collective in a loop counts once per iteration, or once where the loop's trip count is None (not
    known). All branches of a conditional count.
    """
    tally = _tally(graph, graph.entry, trip_counts)
    operations = sorted({op for op, _ in tally})
    return tuple(Collective(op, tally[op, "count"], tally[op, "bytes"]) for op in operations)


def open_ended(graph: Graph, trip_counts: Mapping[str, int | None]) -> bool:
    """Whether a collective stands in a loop of unknown length."""
    # Counting its loop twice changes the result only if it holds a collective.
    twice = {name: 2 if length is None else length for name, length in trip_counts.items()}
    return collectives(graph, twice) != collectives(graph, trip_counts)


def _tally(graph: Graph, name: str, trip_counts: Mapping[str, int | None]) -> Tally:
    total = Tally()
    for instruction in graph.computations[name].instructions.values():
        op = instruction.opcode.removesuffix("-done")  # of an asynchronous pair only the end counts
        if op in OPS:
            total.update({(op, "count"): 1, (op, "bytes"): size_of(instruction.shape)})
        elif instruction.opcode in ("while", "conditional", "call", "fusion", *STARTS):
            trips = trip_counts.get(instruction.name) if instruction.opcode == "while" else 1
            for callee in instruction.callees:
                inner = _tally(graph, callee, trip_counts)
                total.update({key: amount * (1 if trips is None else trips) for key, amount in inner.items()})
    return total


def size_of(shape: str) -> int:
    """Bytes of a shape in HLO text, summed over a tuple's arrays, without padding by layouts."""
    return sum(_array(*array) for array in ARRAY.findall(shape))


def _array(kind: str, sizes: str) -> int:
    elements = math.prod(int(size.removeprefix("<=")) for size in sizes.split(",") if size)
    return -(-elements * bits(kind) // 8)


def bits(kind: str) -> int:
    """Bits of one element: 8 for `pred`, 0 for `token`, else in the name, as in `bf16` and `f8e4m3fn`."""
    match = re.match(r"[a-z]+(\d+)", kind)
    if match is None:
        return 8 if kind == "pred" else 0
    return int(match[1])
