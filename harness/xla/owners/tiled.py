"""Tiled layouts of a TPU: an array's bytes, with its sizes rounded up to tiles, and its memory space."""

import math
import re
from typing import NamedTuple

from harness.xla.collectives import bits

ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,<=]*)\](?:\{([\d,]*)(?::((?:[A-Z]+\([^)]*\)|\([^)]*\))*))?\})?")
TILE = re.compile(r"T\(([\d,*]+)\)")
SPACE = re.compile(r"S\((\d+)\)")


class TiledArray(NamedTuple):
    """An array in one of libtpu's shapes. `space` 0 is HBM, 1 a core's VMEM, others its smaller memories."""

    shape: str
    bytes: int
    space: int


def tiled_arrays(shape: str) -> list[TiledArray]:
    """The arrays of a shape, a tuple's in order.

    >>> tiled_arrays("f32[512,3]{1,0:T(8,128)S(1)}")
    [TiledArray(shape='f32[512,3]', bytes=262144, space=1)]
    """
    return [_array(*match) for match in ARRAY.findall(shape)]


def _array(kind: str, sizes: str, order: str, layout: str) -> TiledArray:
    lengths = [int(size.removeprefix("<=")) for size in sizes.split(",") if size]
    minor_first = [int(place) for place in order.split(",") if place]
    tile = TILE.search(layout)
    padded = [*lengths]
    if tile and "*" not in tile[1]:
        if not lengths:  # one element takes a whole tile
            padded, minor_first = [1], [0]
        for place, size in zip(minor_first, reversed(tile[1].split(",")), strict=False):
            padded[place] = -(-padded[place] // int(size)) * int(size)
    space = SPACE.search(layout)
    size = -(-math.prod(padded) * bits(kind) // 8)
    return TiledArray(f"{kind}[{sizes}]", size, int(space[1]) if space else 0)
