"""A program's tile of rows: some queries, and the heads that share their keys."""

import triton
import triton.language as tl


@triton.jit
def tile_of(seq, TILE: tl.constexpr, GROUP: tl.constexpr, P: tl.constexpr, BM: tl.constexpr):
    """(batch, unit of heads, tile, first query, last query, each row's query, its number, which rows exist).

    `GROUP` heads are padded to a power of two. A program never has queries of two tiles of `TILE` queries. A
    row's number is its index in [batch, seq, heads]. The last tiles have the most keys, so they start first.
    """
    padded: tl.constexpr = triton.next_power_of_2(GROUP)
    queries: tl.constexpr = BM // padded
    chunks: tl.constexpr = (TILE + queries - 1) // queries
    chunk = tl.num_programs(0) - 1 - tl.program_id(0)
    tile = chunk // chunks
    first = tile * TILE + chunk % chunks * queries
    end = tl.minimum(tl.minimum(first + queries, tile * TILE + TILE), seq)
    units: tl.constexpr = P.heads // GROUP
    batch, unit = tl.program_id(1) // units, tl.program_id(1) % units
    local = tl.arange(0, BM)
    rows = first + local // padded
    member = local % padded
    numbers = (batch.to(tl.int64) * seq + rows) * P.heads + unit * GROUP + member
    return batch, unit, tile, first, end - 1, rows, numbers, (rows < end) & (member < GROUP)


@triton.jit
def list_of(picks, batch, unit, tile, seq, P: tl.constexpr):
    """Pointer to the first pick of the list that a unit of `group` heads reads in a tile."""
    tiles = (seq + P.tile - 1) // P.tile
    line = batch * P.lists + unit // P.units % P.lists
    return picks + ((line.to(tl.int64) * tiles + tile) * P.units + unit % P.units) * P.selected


@triton.jit
def zero_rows(count: tl.constexpr, P: tl.constexpr):
    """Zeros in f32 for a sum of rows of one head."""
    columns: tl.constexpr = P.columns  # up to Triton 3.7 an object's attribute is not a constant in a shape
    return tl.zeros((count, columns), tl.float32)


@triton.jit
def load_rows(x, numbers, exist, P: tl.constexpr):
    """Rows of one head's width by their numbers; zeros for missing rows and beyond the width."""
    column = tl.arange(0, P.columns)
    inside = exist[:, None]
    if P.width < P.columns:
        inside = inside & (column < P.width)[None, :]
    return tl.load(x + numbers[:, None] * P.width + column[None, :], mask=inside, other=0.0)


@triton.jit
def store_rows(x, numbers, values, exist, P: tl.constexpr):
    column = tl.arange(0, P.columns)
    inside = exist[:, None]
    if P.width < P.columns:
        inside = inside & (column < P.width)[None, :]
    place = x + numbers[:, None] * P.width + column[None, :]
    tl.store(place, values.to(x.dtype.element_ty), mask=inside)


@triton.jit
def share_of(gates, numbers, exist, BRANCH: tl.constexpr, P: tl.constexpr):
    """A branch's share in each row of the result: 1, a third, or its gate."""
    if P.share == 0:
        share = tl.load(gates + numbers * 3 + BRANCH, mask=exist, other=0.0).to(tl.float32)
    else:
        share = tl.full(numbers.shape, 1.0 / P.share, tl.float32)
    return share
