"""The tiles of the kernels by dtype and width, found by compiling from sm_80 to sm_100 (Triton 3.9).

In half precision MSLK's form has no spills up to heads of 128 (Triton 3.7: 8 bytes). In the paper's form, on
sm_80, the compressed branch spills, whose mean keys are three terms, and so do the queries' gradients for
heads of 128. In f32 the branches in one pass and the keys' gradients spill everywhere. `static` prints how
much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .plan import power_of_two


class Tile(NamedTuple):
    """Scores of `rows` by `keys` exist at a time, in a launch with this many warps and stages."""

    rows: int
    keys: int
    warps: int
    stages: int

    @property
    def options(self) -> dict[str, Any]:
        """The tile as a kernel takes it."""
        return {"BM": self.rows, "BN": self.keys, "num_warps": self.warps, "num_stages": self.stages}

    def holding(self, heads: int) -> Tile:
        """The tile with at least one row for each of these heads, which read the same keys."""
        return self._replace(rows=max(self.rows, power_of_two(heads)))


class Tiles(NamedTuple):
    """The tiles of each kernel; with all branches in one program there is one more result per tile.

    `attend_group` and `of_group` are for the heads that share one query's picks. `of_query_apart` is for the
    other branches of that form.
    """

    attend: Tile
    attend_apart: Tile
    attend_group: Tile
    of_query: Tile
    of_query_apart: Tile
    of_group: Tile
    of_mean: Tile
    of_key: Tile
    pick: Tile
    pick_token: Tile


HALF = Tiles(
    attend=Tile(64, 32, 4, 2),
    attend_apart=Tile(64, 64, 4, 2),
    attend_group=Tile(16, 64, 4, 2),
    of_query=Tile(64, 64, 4, 3),
    of_query_apart=Tile(64, 64, 4, 2),
    of_group=Tile(16, 64, 4, 2),
    of_mean=Tile(64, 64, 4, 2),
    of_key=Tile(64, 64, 4, 2),
    pick=Tile(16, 32, 4, 2),
    pick_token=Tile(16, 64, 8, 2),
)
WIDE_HALF = HALF._replace(
    attend=Tile(32, 32, 4, 2),
    attend_apart=Tile(64, 32, 4, 2),
    of_query=Tile(64, 64, 4, 2),
    of_query_apart=Tile(64, 32, 4, 2),
    of_mean=Tile(64, 64, 8, 2),
    of_key=Tile(32, 64, 8, 3),
)
SINGLE = Tiles(
    attend=Tile(32, 16, 8, 1),
    attend_apart=Tile(64, 16, 8, 1),
    attend_group=Tile(16, 32, 4, 1),
    of_query=Tile(32, 16, 8, 1),
    of_query_apart=Tile(32, 16, 8, 1),
    of_group=Tile(16, 32, 4, 1),
    of_mean=Tile(32, 16, 8, 1),
    of_key=Tile(32, 16, 8, 1),
    pick=Tile(16, 32, 4, 1),
    pick_token=Tile(16, 32, 4, 1),
)


def tiles_of(dtype: str, width: int) -> Tiles:
    """The tiles for a dtype and a head's width."""
    if dtype == "f32":
        return SINGLE
    return HALF if width <= 64 else WIDE_HALF
