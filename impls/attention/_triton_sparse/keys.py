"""Which keys a tile of queries sees in each branch, a block of keys at a time.

Picked blocks are read in place: the position of a block in the list gives its tokens' numbers.
"""

import triton
import triton.language as tl

MEANS = tl.constexpr(0)
PICKED = tl.constexpr(1)
WINDOW = tl.constexpr(2)


@triton.jit
def places_of(first, last, picks, seq, means, KIND: tl.constexpr, P: tl.constexpr):
    """(begin, end) of the places that queries `first` … `last` visit: means, tokens, or those of picks."""
    begin = 0
    if KIND == MEANS:
        end = tl.minimum(means, tl.maximum(last - P.last + P.stride, 0) // P.stride)
    elif KIND == WINDOW:
        begin = tl.maximum(first - P.window + 1, 0)
        end = tl.minimum(last + 1, seq)
    else:
        slot = tl.arange(0, P.slots)
        picked = tl.load(picks + slot, mask=slot < P.selected, other=-1)
        visible = (picked >= 0) & (picked * P.block <= last)
        end = tl.max(tl.where(visible, slot + 1, 0), 0) * P.block
    return begin, end


@triton.jit
def keys_at(place, end, rows, picks, seq, KIND: tl.constexpr, P: tl.constexpr, BN: tl.constexpr):
    """(keys, which exist, which a row sees) of the places from `place` on; rows see only keys that exist."""
    places = place + tl.arange(0, BN)
    keys = places
    exist = places < end
    if KIND == MEANS:
        seen = (keys * P.stride + P.last)[None, :] <= rows[:, None]
    elif KIND == WINDOW:
        seen = (keys[None, :] <= rows[:, None]) & (keys[None, :] > rows[:, None] - P.window)
    else:
        if P.block % BN == 0:
            keys = tl.load(picks + place // P.block) * P.block + place % P.block + tl.arange(0, BN)
        else:
            picked = tl.load(picks + places // P.block, mask=exist, other=-1)
            keys = picked * P.block + places % P.block
        exist = (keys >= 0) & (keys < seq)
        seen = (keys >= 0)[None, :] & (keys[None, :] <= rows[:, None])
    return keys, exist, seen


@triton.jit
def product(a, b):
    """A product with a transpose; bf16 times f32 is exact: three terms of bf16 represent an f32.

    For f32 times f32 it is IEEE's, by the general arithmetic units: tensor cores would round to tf32.
    """
    if a.dtype == tl.bfloat16 and b.dtype == tl.float32:
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
