"""Which tiles of keys all queries of a tile see, and which only some of them see."""

import triton
import triton.language as tl

from .keys import MEANS, PICKED, WINDOW


@triton.jit
def parts_of(first, last, picks, seq, means, KIND: tl.constexpr, P: tl.constexpr, BN: tl.constexpr):
    """(begin, low, high, end): like `places_of`; queries `first` … `last` see places `low` to `high`.

    These are whole tiles, and so are the places from `begin` to `low`.
    """
    begin = 0
    low = 0
    if KIND == MEANS:
        end = tl.minimum(means, tl.maximum(last - P.last + P.stride, 0) // P.stride)
        high = tl.minimum(means, tl.maximum(first - P.last + P.stride, 0) // P.stride) // BN * BN
    elif KIND == WINDOW:
        begin = tl.maximum(first - P.window + 1, 0) // BN * BN
        end = tl.minimum(last + 1, seq)
        low = tl.maximum(last - P.window + BN, 0) // BN * BN
        high = tl.maximum((first + 1) // BN * BN, low)
    else:
        # A reduction of 32 integers is one instruction, whose result is known to be equal in all threads.
        slots: tl.constexpr = max(32, P.slots)
        slot = tl.arange(0, slots)
        picked = tl.load(picks + slot, mask=slot < P.selected, other=-1)
        visible = (picked >= 0) & (picked * P.block <= last)
        end = tl.max(tl.where(visible, slot + 1, 0), 0) * P.block
        whole = visible & (picked * P.block + P.block - 1 <= first)
        high = tl.min(tl.where(whole, slots, slot), 0) * P.block // BN * BN
    return begin, low, high, end


@triton.jit
def tile_at(
    place, end, rows, picks, limit,
    KIND: tl.constexpr, MASKED: tl.constexpr, AXIS: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """(first key, the others' distances, which exist, which a row sees) of the places from `place` on.

    The last two are true if not `MASKED`. The rows' axis in a tile of scores is 1 − `AXIS`.
    """
    local = tl.arange(0, BN)
    start = place
    exist = True
    seen = True
    if KIND == PICKED:
        if P.block % BN == 0:
            start = tl.load(picks + place // P.block) * P.block + place % P.block
        else:
            start = 0
            places = place + local
            picked = tl.load(picks + places // P.block, mask=places < end, other=-1)
            local = picked.to(tl.int64) * P.block + places % P.block
    if MASKED:
        keys = tl.expand_dims(start + local, 1 - AXIS).to(tl.int32)
        rows = tl.expand_dims(rows, AXIS)
        exist = (start + local >= 0) & (start + local < limit)
        seen = keys * P.stride + P.last <= rows if KIND == MEANS else keys <= rows
        if KIND == WINDOW:
            seen = seen & (keys > rows - P.window)
        if KIND == PICKED:
            seen = seen & (keys >= 0)
    return start, local, exist, seen


@triton.jit
def load_tile(x, start, local, exist, MASKED: tl.constexpr, P: tl.constexpr):
    """Rows `start` + `local` of the key head whose first row is at `x`; all exist if not `MASKED`.

    Distances within a tile fit 32 bits; other `local` must be wider.
    """
    column = tl.arange(0, P.columns)
    stride: tl.constexpr = P.kv_heads * P.width
    place = x + tl.cast(start, tl.int64) * stride + local[:, None] * stride + column[None, :]
    if MASKED and P.width < P.columns:
        return tl.load(place, mask=exist[:, None] & (column < P.width)[None, :], other=0.0)
    if MASKED:
        return tl.load(place, mask=exist[:, None], other=0.0)
    if P.width < P.columns:
        return tl.load(place, mask=(column < P.width)[None, :], other=0.0)
    return tl.load(place)
