"""The keys that a tile of queries sees in each branch, a tile of keys at a time.

A place is the number of a mean or a token, or in the picked branch the position of a token in the list's
blocks. Picked blocks are read in place.
"""

import triton
import triton.language as tl

MEANS = tl.constexpr(0)
PICKED = tl.constexpr(1)
WINDOW = tl.constexpr(2)


@triton.jit
def parts_of(first, last, picks, seq, means, KIND: tl.constexpr, P: tl.constexpr, BN: tl.constexpr):
    """(begin, low, high, end) of the places that queries `first` … `last` visit.

    All queries see the places from `low` to `high`. These are whole tiles, and so are those from `begin` to
    `low`.
    """
    begin = 0
    low = 0
    first = tl.minimum(first, last)  # a program after the end has no queries, and may visit no keys there
    if KIND == MEANS:
        end = tl.minimum(means, tl.maximum(last - P.last + P.stride, 0) // P.stride)
        high = tl.minimum(means, tl.maximum(first - P.last + P.stride, 0) // P.stride) // BN * BN
    elif KIND == WINDOW:
        begin = tl.maximum(first - P.window + 1, 0) // BN * BN
        end = tl.minimum(last + 1, seq)
        low = tl.maximum(last - P.window + BN, 0) // BN * BN
        high = tl.maximum((first + 1) // BN * BN, low)
    else:
        # A reduction of 32 integers is one instruction, and ptxas knows that all threads have its result.
        slots: tl.constexpr = P.slots if P.slots > 32 else 32  # noqa: FURB136 (Triton's `max` is of tensors)
        slot = tl.arange(0, slots)
        picked = tl.load(picks + slot, mask=slot < P.selected, other=-1)
        visible = (picked >= 0) & (picked * P.block <= last)
        end = tl.max(tl.where(visible, slot + 1, 0), 0) * P.block
        whole = visible & (picked * P.block + P.block - 1 <= first)
        high = tl.min(tl.where(whole, slots, slot), 0) * P.block // BN * BN
    return begin, low, high, end


@triton.jit
def tile_count(begin, low, high, end, MASKED: tl.constexpr, BN: tl.constexpr):
    """How many tiles there are that all queries see, or `MASKED` tiles around them."""
    return (low - begin) // BN + (end - high + BN - 1) // BN if MASKED else (high - low) // BN


@triton.jit
def place_of(number, begin, low, high, MASKED: tl.constexpr, BN: tl.constexpr):
    """The first place of a tile."""
    place = low + number * BN
    if MASKED:
        place = begin + number * BN
        place += tl.where(place >= low, high - low, 0)
    return place


@triton.jit
def pick_of(
    number, begin, low, high, picks,
    KIND: tl.constexpr, MASKED: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The pick of a tile, or of each of its places if a tile is not part of one block.

    It is loaded one tile ahead, because copies that wait for its load do not overlap with others.
    """
    pick = 0
    if KIND == PICKED:
        place = place_of(number, begin, low, high, MASKED, BN)
        places = place if P.block % BN == 0 else place + tl.arange(0, BN)
        pick = tl.load(picks + tl.minimum(places // P.block, P.selected - 1))
    return pick


@triton.jit
def tile_at(
    number, pick, begin, low, high, end, rows, limit,
    KIND: tl.constexpr, MASKED: tl.constexpr, AXIS: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """(elements before a tile's first row, numbers of its rows from there, which exist, which a query sees).

    The last two are true if not `MASKED`. The axis of queries in a tile of scores is 1 − `AXIS`.
    """
    place = place_of(number, begin, low, high, MASKED, BN)
    local = tl.arange(0, BN)
    start = place
    exist = tl.full((BN,), True, tl.int1)
    seen = True
    if KIND == PICKED:
        if P.block % BN == 0:
            start = pick * P.block + place % P.block
        else:
            start = 0
            places = place + local
            if MASKED:
                pick = tl.where(places < end, pick, -1)
            local = pick.to(tl.int64) * P.block + places % P.block
    if MASKED:
        keys = (start + local).to(tl.int32)
        exist = (keys >= 0) & (keys < limit)
        keys = tl.expand_dims(keys, 1 - AXIS)
        rows = tl.expand_dims(rows, AXIS)
        seen = (keys * P.stride + P.last if KIND == MEANS else keys) <= rows
        if KIND == WINDOW:
            seen = seen & (keys > rows - P.window)
        if KIND == PICKED:
            seen = seen & (keys >= 0)
    return tl.cast(start, tl.int64) * (P.kv_heads * P.width), local * P.kv_heads, exist, seen


@triton.jit
def product(a, b):
    """The product a · bᵀ. Half precision times f32 is exact: an f32 is split into three terms of bf16.

    An f16 is split into two. f32 times f32 is IEEE's, by the general arithmetic units, because tensor cores
    would round to tf32.
    """
    if a.dtype == tl.float16 and b.dtype == tl.float32:
        first = a.to(tl.bfloat16)
        found = product((a.to(tl.float32) - first.to(tl.float32)).to(tl.bfloat16), b) + product(first, b)
    elif a.dtype == tl.bfloat16 and b.dtype == tl.float32:
        high = b.to(tl.bfloat16)
        rest = b - high.to(tl.float32)
        middle = rest.to(tl.bfloat16)
        low = (rest - middle.to(tl.float32)).to(tl.bfloat16)
        found = tl.dot(a, tl.trans(low), out_dtype=tl.float32)
        found = tl.dot(a, tl.trans(middle), found, out_dtype=tl.float32)
        found = tl.dot(a, tl.trans(high), found, out_dtype=tl.float32)
    else:
        found = tl.dot(a.to(b.dtype), tl.trans(b), input_precision="ieee", out_dtype=tl.float32)
    return found
