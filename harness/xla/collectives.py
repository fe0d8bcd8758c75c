"""Collective operations of a multi-device program: their number, and the bytes of their results."""

import math
import re
from collections import Counter
from collections.abc import Mapping

from harness.core.static_figures import Collective
from harness.xla.hlo import BRANCHING, Graph

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


def collectives(graph: Graph, trip_counts: Mapping[str, int | None]) -> tuple[Collective, ...]:
    """The collectives of one device's program, by operation; `bytes` is the size of their results.

    A collective in a loop counts once per iteration, or once if the loop's trip count is None (not
    known). All branches of a conditional count.
    """
    known = {name: 1 if trips is None else trips for name, trips in trip_counts.items()}
    counts, sizes = Counter[str](), Counter[str]()
    for computation, times in graph.executions(known, (*BRANCHING, "fusion")):
        for instruction in computation.instructions.values():
            op = instruction.opcode.removesuffix("-done")  # only the end of an asynchronous pair counts
            if op in OPS:
                counts[op] += times or 0
                sizes[op] += (times or 0) * size_of(instruction.shape)
    return tuple(Collective(op, counts[op], sizes[op]) for op in sorted(counts))


def open_ended(graph: Graph, trip_counts: Mapping[str, int | None]) -> bool:
    """Whether a collective is in a loop of unknown length."""
    # Counting its loop twice changes the result only if it holds a collective.
    twice = {name: 2 if length is None else length for name, length in trip_counts.items()}
    return collectives(graph, twice) != collectives(graph, trip_counts)


def size_of(shape: str) -> int:
    """Bytes of a shape in HLO text, summed over a tuple's arrays, without padding by layouts."""
    return sum(_array(*array) for array in ARRAY.findall(shape))


def _array(kind: str, sizes: str) -> int:
    elements = math.prod(int(size.removeprefix("<=")) for size in sizes.split(",") if size)
    return -(-elements * bits(kind) // 8)


def bits(kind: str) -> int:
    """Bits of one element: 8 for `pred`, 0 for `token`, else from the name (`bf16`, `f8e4m3fn`)."""
    match = re.match(r"[a-z]+(\d+)", kind)
    if match is None:
        return 8 if kind == "pred" else 0
    return int(match[1])
