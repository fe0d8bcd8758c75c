"""The tiles of the sparse kernels, chosen by compiling from sm_80 to sm_100.

Hopper's matrix instructions need at least 64 rows, and with Triton 3.6 at least 16 columns. With three stages
the copies of two tiles overlap with products. In half precision no kernel spills on sm_90 for heads of 64 and
128. In f32 the branches in one launch and the keys' gradients spill on every GPU. `static` prints how much.
"""

from __future__ import annotations

from typing import NamedTuple

from .._triton_tiles import Tile


class Tiles(NamedTuple):
    """The tiles of each kernel.

    `attend_means` is for mean keys in f32, which are split into three terms. `attend_group` and `of_group`
    are for the heads that share one query's picks. `attend_apart` and `of_query_apart` are for the other
    branches of that form.
    """

    attend: Tile
    attend_apart: Tile
    attend_means: Tile
    attend_group: Tile
    of_query: Tile
    of_query_apart: Tile
    of_group: Tile
    of_mean: Tile
    of_key: Tile
    pick: Tile
    pick_query: Tile
    pick_token: Tile
