"""Constants that describe a form of native sparse attention to all kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..workload import AttentionWorkload

COARSE, FINE, NEAR = 1, 2, 4  # the branches over means, picked blocks and the window
ALL_BRANCHES = COARSE | FINE | NEAR
ALONE, THIRD, GIVEN = 1, 3, 0  # a branch's share in the result: all of it, a third, or its gate


@dataclass(frozen=True)
class Plan:
    """Heads and their width, the keys of each branch, and which queries and heads share a list of picks.

    `tile` queries of `group` heads share one list. A query at t sees mean i iff i·`stride` + `last` ≤ t.
    """

    heads: int
    kv_heads: int
    width: int
    columns: int  # of a tile: the least power of two that is at least the width
    scale: float  # of products
    scale2: float  # the same in a softmax of powers of two
    block: int  # tokens of a pick
    lists: int  # of picks, of one query or tile: each key head's or one for all
    selected: int  # picks of a list
    slots: int  # the least power of two that is at least `selected`
    window: int
    tile: int
    group: int
    length: int  # tokens of a mean
    stride: int
    last: int
    share: int  # ALONE, THIRD or GIVEN
    branches: int  # ALL_BRANCHES or FINE

    @property
    def heads_of_key(self) -> int:
        """Number of query heads that read one key head."""
        return self.heads // self.kv_heads

    @property
    def units(self) -> int:
        """Number of lists of picks that a key head's query heads have, for one tile."""
        return self.heads_of_key // self.group


def power_of_two(number: int, least: int = 1) -> int:
    """The least power of two that is at least both."""
    return max(least, 1 << (number - 1).bit_length())


def plan(w: AttentionWorkload, *, tile: int, group: int, length: int, stride: int, last: int) -> Plan:
    """The plan of all three branches, with `selected` limited to the number of blocks."""
    selected = min(w.selected, -(-w.seq // w.block))
    return Plan(
        heads=w.heads,
        kv_heads=w.kv_heads,
        width=w.head_dim,
        columns=power_of_two(w.head_dim, 16),
        scale=w.head_dim**-0.5,
        scale2=math.log2(math.e) * w.head_dim**-0.5,
        block=w.block,
        lists=w.kv_heads,
        selected=selected,
        slots=power_of_two(selected, 2),
        window=w.window,
        tile=tile,
        group=group,
        length=length,
        stride=stride,
        last=last,
        share=GIVEN if w.gated else THIRD,
        branches=ALL_BRANCHES,
    )
