"""The choice of rows to judge where a reference would take too long for the whole result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

WHOLE_SECONDS = 5.0  # references expected to take longer are computed on chosen rows only
FEW, MORE = 8, 64


def rows_to_judge(
    count: int,
    tile: int,
    seconds: Callable[[Any], float],
    passes: int,
    seed: Callable[[], np.random.Generator],
) -> Any:
    """None for all `count` rows, else a sorted choice that takes about half of the allowed time.

    `seconds(rows)` evaluates the reference on some rows; `passes` such evaluations are needed. The
    number of rows is a power of two, so that it seldom differs between two runs on one machine.
    """
    few, more = choose_rows(count, tile, FEW, seed()), choose_rows(count, tile, MORE, seed())
    if len(more) >= count:
        return None
    seconds(few)  # untimed: the first evaluation also loads code
    fixed, slope = _line((len(few), seconds(few)), (len(more), seconds(more)))
    if passes * (fixed + slope * count) <= WHOLE_SECONDS:
        return None
    affordable = max(0.0, WHOLE_SECONDS / 2 / passes - fixed) / slope
    if affordable <= len(more):
        return more
    return choose_rows(count, tile, 2 ** int(math.log2(min(affordable, count))), seed())


def _line(small: tuple[int, float], large: tuple[int, float]) -> tuple[float, float]:
    """(fixed seconds, seconds per row) of the line through two evaluations; neither is negative."""
    slope = max((large[1] - small[1]) / max(1, large[0] - small[0]), 1e-9)
    return max(0.0, small[1] - slope * small[0]), slope


def choose_rows(count: int, tile: int, wanted: int, random: np.random.Generator) -> Any:
    """Sorted rows: first, last, both sides of tile edges near the start, middle and end, and random ones."""
    tiles = -(-count // tile)
    edges = {edge * tile for edge in (1, tiles // 2, tiles - 1)} if tile > 1 else set[int]()
    preferred = {row for edge in edges for row in (edge - 1, edge)} | {0, count - 1}
    chosen = np.array(sorted(row for row in preferred if 0 <= row < count))
    rest = np.setdiff1d(np.arange(count), chosen)
    others = random.choice(rest, max(0, min(wanted, count) - len(chosen)), replace=False)
    return np.sort(np.concatenate([chosen, others]))
