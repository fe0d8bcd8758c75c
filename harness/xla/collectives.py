"""What the devices of a program send one another: how often, and how many bytes each is left with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from harness.core.static_figures import Collective
from harness.xla.hlo import STARTS, Graph, Instruction

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


def present(text: str) -> bool:
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
    twice = {name: 2 if length is None else length for name, length in lengths.items()}
    return collectives(graph, twice) != collectives(graph, lengths)


def _tally(graph: Graph, name: str, lengths: Mapping[str, int | None]) -> Tally:
    total: Tally = {}
    for one in graph.computations[name].instructions.values():
        op = one.opcode.removesuffix("-done")  # of a pair, the second half has the result alone
        if op in OPS:
            _add(total, {op: (1, size_of(one.shape))})
        elif one.opcode == "conditional":
            _add(total, _most([_tally(graph, branch, lengths) for branch in one.branches]))
        else:
            turns = lengths.get(one.name) if one.opcode == "while" else 1
            for callee in _run(one):
                _add(total, _tally(graph, callee, lengths), 1 if turns is None else turns)
    return total


def _most(branches: Sequence[Tally]) -> Tally:
    """Of each operation the highest count and the most bytes, which may be two branches'."""
    found: Tally = {}
    for op in set[str]().union(*branches):
        counts, sizes = zip(*(tally.get(op, (0, 0)) for tally in branches), strict=True)
        found[op] = (max(counts), max(sizes))
    return found


def _run(one: Instruction) -> Iterator[str]:
    """The computations that an instruction runs once, or once a turn."""
    if one.opcode in ("while", "call", "fusion", *STARTS):
        for names in one.called.values():
            yield from names


def _add(total: Tally, part: Tally, times: int = 1) -> None:
    for op, (count, size) in part.items():
        before = total.get(op, (0, 0))
        total[op] = (before[0] + times * count, before[1] + times * size)


def size_of(shape: str) -> int:
    """Bytes of a shape of an HLO text, of all arrays in a tuple together, without padding of layouts."""
    return sum(_array(*found) for found in ARRAY.findall(shape))


def _array(kind: str, sizes: str) -> int:
    elements = math.prod(int(size.removeprefix("<=")) for size in sizes.split(",") if size)
    return -(-elements * _bits(kind) // 8)


def _bits(kind: str) -> int:
    """Of one element: `pred` takes a byte, `token` none, `bf16`, `s4` or `f8e4m3fn` say it."""
    found = re.match(r"[a-z]+(\d+)", kind)
    if found is None:
        return 8 if kind == "pred" else 0
    return int(found[1])
