"""The tiles of the sparse kernels, found by compiling from sm_80 to sm_100.

In half precision MSLK's form has no spills up to heads of 128 (Triton 3.7: 8 bytes). In the paper's form, on
sm_80, the compressed branch spills, whose mean keys are three terms, and so do the queries' gradients for
heads of 128. In f32 the branches in one pass and the keys' gradients spill everywhere. `static` prints how
much.
"""

from __future__ import annotations

from typing import NamedTuple

from .._triton_tiles import Tile


class Tiles(NamedTuple):
    """The tiles of each kernel; with all branches in one program there is one more result per tile.

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
