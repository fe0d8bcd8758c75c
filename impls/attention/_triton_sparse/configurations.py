"""The tiles of the kernels by dtype and width, found by compiling from sm_80 to sm_100 (Triton 3.9).

In half precision MSLK's form spills nothing up to heads of 128 (Triton 3.7: 8 bytes). Of the paper's, on
sm_80, the compressed branch does, whose mean keys are three terms, and so do the queries' gradients of heads
of 128; in f32 the branches in one pass and the keys' gradients do everywhere. `static` says how much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .plan import power_of_two


class Tile(NamedTuple):
    """Scores of `rows` by `keys` are held at a time, in a launch of so many warps and stages."""

    rows: int
    keys: int
    warps: int
    stages: int

    @property
    def options(self) -> dict[str, Any]:
        """The tile as a kernel takes it."""
        return {"BM": self.rows, "BN": self.keys, "num_warps": self.warps, "num_stages": self.stages}

    def holding(self, heads: int) -> Tile:
        """The tile with a row for each of these heads, which read the same keys, at least."""
        return self._replace(rows=max(self.rows, power_of_two(heads)))


class Tiles(NamedTuple):
    """Of each kernel; all branches in one program hold one result more than a branch apart.

    `attend_group` and `of_group` are for the heads that share one query's picks.
    """

    attend: Tile
    attend_apart: Tile
    attend_group: Tile
    of_query: Tile
    of_group: Tile
    of_mean: Tile
    of_key: Tile
    pick: Tile
    pick_token: Tile


HALF = Tiles(
    attend=Tile(64, 32, 4, 2),
    attend_apart=Tile(64, 64, 4, 2),
    attend_group=Tile(16, 64, 4, 2),
    of_query=Tile(32, 32, 4, 2),
    of_group=Tile(16, 64, 4, 2),
    of_mean=Tile(32, 64, 8, 2),
    of_key=Tile(32, 32, 4, 2),
    pick=Tile(16, 32, 4, 2),
    pick_token=Tile(16, 64, 8, 2),
)
WIDE_HALF = HALF._replace(
    attend=Tile(32, 32, 4, 2),
    attend_apart=Tile(64, 32, 4, 2),
    of_query=Tile(64, 32, 4, 2),
    of_key=Tile(32, 64, 8, 2),
)
SINGLE = Tiles(
    attend=Tile(32, 16, 8, 1),
    attend_apart=Tile(64, 16, 8, 1),
    attend_group=Tile(16, 32, 4, 1),
    of_query=Tile(32, 16, 8, 1),
    of_group=Tile(16, 32, 4, 1),
    of_mean=Tile(32, 16, 8, 1),
    of_key=Tile(32, 16, 8, 1),
    pick=Tile(16, 32, 4, 1),
    pick_token=Tile(16, 32, 4, 1),
)


def tiles_of(dtype: str, width: int) -> Tiles:
    """The tiles of a dtype and a head's width."""
    if dtype == "f32":
        return SINGLE
    return HALF if width <= 64 else WIDE_HALF
