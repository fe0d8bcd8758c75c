"""The highest scores of rows, updated as their scores are computed: score and index in one integer.

Ordered by score, and for equal scores by index, the lower first, so the order of arrival cannot change what
is picked.
"""

import triton
import triton.language as tl

NOTHING = tl.constexpr(-(2**63))
LOWEST = tl.constexpr(-0x7F800001)  # order key of −inf


@triton.jit
def rank_key(scores, index):
    """64 bits in the order of f32 scores, which include the index."""
    bits = scores.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    return (ordered << 32) | (0x7FFFFFFF - index).to(tl.int64)


@triton.jit
def keep_highest(best, chunk):
    """The highest of both, ascending, as many as `best` has; it is ascending, and `chunk` is not shorter."""
    # For one ascending and one descending list, the greater of each pair are the highest of all.
    return tl.bitonic_merge(tl.maximum(best, tl.topk(chunk, best.shape[1])))


@triton.jit
def indices_of(best, SELECTED: tl.constexpr):
    """The indices of the last `SELECTED`, ascending, with −1 at the end for those of score −inf."""
    slot = tl.arange(0, best.shape[1])[None, :]
    real = (slot >= best.shape[1] - SELECTED) & ((best >> 32) > LOWEST)
    index = tl.where(real, 0x7FFFFFFF - (best & 0x7FFFFFFF), 0x7FFFFFFF)
    index = tl.sort(index.to(tl.int32))
    return tl.where(index == 0x7FFFFFFF, -1, index)


@triton.jit
def store_picks(picks, line, best, exist, P: tl.constexpr):
    """A plan's picks of each row, to the list of this number."""
    slot = tl.arange(0, best.shape[1])[None, :]
    place = picks + line[:, None] * P.selected + slot
    tl.store(place, indices_of(best, P.selected), mask=exist[:, None] & (slot < P.selected))
