"""Sampling of the rows to judge, where the reference would take too long for the whole result."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

FEW, MORE = 8, 64  # rows of the two evaluations that a reference's cost is measured with


class Effort(NamedTuple):
    """How much a reference may cost: whole up to `whole_s` seconds, else at least on `least` rows."""

    whole_s: float
    least: int


BEFORE_THE_CLOCK = Effort(1.0, MORE)
# Less while a group is timed, where all cases wait: a memoized answer is wrong in every row of fresh values.
UNDER_THE_CLOCK = Effort(0.25, 16)


class RowCost(NamedTuple):
    """A reference's cost as a linear function of rows: fixed seconds, and seconds per row."""

    fixed_s: float
    row_s: float


def measure_cost(
    count: int, tile: int, seconds: Callable[[Any], float], seed: Callable[[], np.random.Generator]
) -> RowCost | None:
    """The line through two timed evaluations, `seconds(rows)`; None where `count` is too small for two."""
    few, more = choose_rows(count, tile, FEW, seed()), choose_rows(count, tile, MORE, seed())
    if len(more) >= count:
        return None
    seconds(few)  # untimed: the first evaluation also loads code
    few_s, more_s = seconds(few), seconds(more)
    row_s = max((more_s - few_s) / max(1, len(more) - len(few)), 1e-9)
    return RowCost(max(0.0, few_s - row_s * len(few)), row_s)


def rows_to_judge(
    count: int,
    tile: int,
    cost: RowCost | None,
    passes: int,
    effort: Effort,
    seed: Callable[[], np.random.Generator],
    most: int | None = None,
) -> Any:
    """None for all `count` rows, else sorted rows that take about half of the effort's seconds.

    The reference is evaluated `passes` times, on `most` rows where that is given. The number of rows is
    rounded to a power of two, so that it seldom differs between runs on one machine.
    """
    if cost is None:
        return None
    affordable = float(count)
    if passes * (cost.fixed_s + cost.row_s * count) > effort.whole_s:
        affordable = max(0.0, effort.whole_s / 2 / passes - cost.fixed_s) / cost.row_s
    if most is not None:
        affordable = min(affordable, most)
    if affordable >= count:
        return None
    if affordable <= effort.least:
        return choose_rows(count, tile, effort.least, seed())
    return choose_rows(count, tile, 2 ** int(math.log2(affordable)), seed())


def choose_rows(count: int, tile: int, wanted: int, random: np.random.Generator) -> Any:
    """Sorted rows: first, last, both sides of tile edges near the start, middle and end, and random ones."""
    tiles = -(-count // tile)
    edges = {edge * tile for edge in (1, tiles // 2, tiles - 1)} if tile > 1 else set[int]()
    preferred = {row for edge in edges for row in (edge - 1, edge)} | {0, count - 1}
    chosen = np.array(sorted(row for row in preferred if 0 <= row < count))
    rest = np.setdiff1d(np.arange(count), chosen)
    others = random.choice(rest, max(0, min(wanted, count) - len(chosen)), replace=False)
    return np.sort(np.concatenate([chosen, others]))
