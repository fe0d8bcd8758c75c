"""Which sparse kernels have tiles in the table, and what the tiles must have.

Hopper's matrix instructions need at least 64 rows, and with Triton 3.6 at least 16 columns. With three stages
the copies of two tiles overlap with products. In half precision no kernel spills on sm_90 for heads of 64 and
128, up to 64 heads of a key head. In f32 the branches in one launch and the keys' gradients spill on every
GPU. `static` prints how much.
"""

from __future__ import annotations

from typing import NamedTuple

from .._triton_tiles import Tile


class Tiles(NamedTuple):
    """The tiles of each kernel."""

    attend: Tile  # all branches in one launch
    attend_apart: Tile  # a branch in a separate launch
    attend_means: Tile  # mean keys in f32, which are split into three terms
    attend_group: Tile  # heads that share one query's picks
    of_query: Tile
    of_query_apart: Tile  # the branches other than the selected one, if each query has its own picks
    of_group: Tile  # heads that share one query's picks
    of_mean: Tile
    of_key: Tile
    pick: Tile
    pick_query: Tile
    pick_token: Tile
