"""The highest scores of rows, updated as scores are computed: score and index in one integer.

The order is by score, and for equal scores by index, the lower first. So the order in which scores arrive
cannot change the picks.
"""

import triton
import triton.language as tl

NOTHING = tl.constexpr(-(2**63))
LOWEST = tl.constexpr(-0x7F800001)  # order key of −inf


@triton.jit
def rank_key(scores, index):
    """64-bit keys in the order of f32 scores, which include the index."""
    bits = scores.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    return (ordered << 32) | (0x7FFFFFFF - index).to(tl.int64)


@triton.jit
def keep_highest(best, chunk):
    """The highest of both, ascending, as many as `best` has. `best` is ascending; `chunk` is not shorter."""
    # `topk` is descending. With an ascending and a descending list, the greater of each pair are the highest.
    return tl.bitonic_merge(tl.maximum(best, tl.topk(chunk, best.shape[1])))


@triton.jit
def indices_of(best, SELECTED: tl.constexpr):
    """The indices of the last `SELECTED`, ascending; those of score −inf are −1, at the end."""
    slot = tl.arange(0, best.shape[1])[None, :]
    real = (slot >= best.shape[1] - SELECTED) & ((best >> 32) > LOWEST)
    index = tl.where(real, 0x7FFFFFFF - (best & 0x7FFFFFFF), 0x7FFFFFFF)
    index = tl.sort(index.to(tl.int32))
    return tl.where(index == 0x7FFFFFFF, -1, index)


@triton.jit
def store_picks(picks, line, best, exist, P: tl.constexpr):
    """Store the picks of each row in the list with the number `line`."""
    slot = tl.arange(0, best.shape[1])[None, :]
    place = picks + line[:, None] * P.selected + slot
    tl.store(place, indices_of(best, P.selected), mask=exist[:, None] & (slot < P.selected))
