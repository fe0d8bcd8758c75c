"""Kernel of `triton_radix_select` and `triton_two_stage`."""

import triton
import triton.language as tl


@triton.jit
def select(
    scores, origins, values, indices, seq, size, topk,
    BITS: tl.constexpr, TRACED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Select the `topk` largest of a slice of `size` columns of a row; the slice has at least `topk`.

    First come those above the smallest that is selected, then those equal to it, each by column, so the order
    of programs or threads does not matter. For a TRACED row the column numbers are in `origins`, which has
    the row's shape.
    """
    slice_ = tl.program_id(1)
    first = slice_ * size
    length = tl.minimum(size, seq - first)
    start = tl.program_id(0).to(tl.int64) * seq + first
    line = scores + start
    local = tl.arange(0, BLOCK)
    bins = tl.arange(0, 256)
    KEY: tl.constexpr = tl.uint64 if BITS == 64 else tl.uint32
    RAW: tl.constexpr = tl.uint16 if BITS == 16 else KEY
    sign = tl.full((BLOCK,), 1, KEY) << (BITS - 1)
    ones = sign | (sign - 1)
    prefix = tl.full((1,), 0, KEY)  # of the smallest key that is selected
    room = topk  # places to be filled with keys of this prefix

    for place in tl.static_range(BITS // 8):
        counts = tl.zeros((256,), tl.int32)
        for begin in range(0, length, BLOCK):
            here = begin + local < length
            bits = tl.load(line + begin + local, mask=here, other=0.0).to(RAW, bitcast=True).to(KEY)
            # Positive scores get the sign bit and negative ones are inverted, so keys order as scores. −0 is
            # 0.
            keys = tl.where(bits > sign, ones - bits, sign | bits)
            if place > 0:
                here = here & ((keys >> (BITS - 8 * place)) == prefix)
            digit = ((keys >> (BITS - 8 - 8 * place)) & 255).to(tl.int32)
            counts += tl.histogram(digit, 256, mask=here)
        reach = tl.cumsum(counts, 0, reverse=True)
        digit_taken = tl.sum((reach >= room).to(tl.int32), 0) - 1
        room -= tl.sum(tl.where(bins > digit_taken, counts, 0), 0)
        prefix = (prefix << 8) | tl.cast(digit_taken, KEY)

    out = (tl.program_id(0).to(tl.int64) * tl.num_programs(1) + slice_) * topk
    above_before, equal_before = 0, topk - room
    for begin in range(0, length, BLOCK):
        here = begin + local < length
        score = tl.load(line + begin + local, mask=here, other=0.0)
        bits = score.to(RAW, bitcast=True).to(KEY)
        keys = tl.where(bits > sign, ones - bits, sign | bits)
        above, equal = here & (keys > prefix), here & (keys == prefix)
        position = tl.where(
            above,
            above_before + tl.cumsum(above.to(tl.int32), 0) - 1,
            equal_before + tl.cumsum(equal.to(tl.int32), 0) - 1,
        )
        above_before += tl.sum(above.to(tl.int32), 0)
        equal_before += tl.sum(equal.to(tl.int32), 0)
        taken = above | (equal & (position < topk))
        column = first + begin + local
        if TRACED:
            column = tl.load(origins + start + begin + local, mask=taken, other=0)
        tl.store(values + out + position, score, mask=taken)
        tl.store(indices + out + position, column, mask=taken)
