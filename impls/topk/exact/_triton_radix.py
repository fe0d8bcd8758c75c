"""Kernels of `triton_radix_select` and `triton_two_stage`.

Each line is a slice of a row, and several programs share it. A bin is an interval of scores: a sign, an
exponent and two bits of the fraction, or all that lies beyond 32 exponents. Bins are coarse in f32 and f64,
but half as many exponents would often leave a whole row in one bin.
"""

import triton
import triton.language as tl

BINS = tl.constexpr(256)


@triton.jit
def count(scores, counts, arrived, seq, size, part_size, F: tl.constexpr, BLOCK: tl.constexpr):
    """Count the scores of a part of a line in each bin."""
    line, start, length, first, last = part_of(seq, size, part_size)
    part, parts = tl.program_id(2), tl.num_programs(2)
    local = tl.arange(0, BLOCK)
    totals = tl.zeros((BINS,), tl.int32)
    for begin in range(first, last, BLOCK):
        here = begin + local < last
        keys = keys_of(tl.load(scores + start + begin + local, mask=here, other=0.0), F)
        totals += tl.histogram(bins_of(keys, F), BINS, mask=here)
    tl.store(counts + (line * parts + part) * BINS + tl.arange(0, BINS), totals)
    tl.store(arrived + line, 0, mask=part == 0)


@triton.jit
def select(
    scores, origins, values, indices, counts, arrived, bounds, spare_values, spare_columns,
    seq, size, part_size, topk, room_for,
    F: tl.constexpr, TRACED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Select the `topk` largest of a line, which has at least as many scores.

    The bin of the smallest that is selected is known from all counts. A part stores its scores of greater
    bins, and puts those of that bin, the candidates, together with the line's. The last program of the line to
    arrive selects from the candidates. First come the scores of greater bins, then the candidates above the
    smallest, then those equal to it, each by column; so the order of programs does not matter. For a TRACED
    row the column numbers are in `origins`, which has the row's shape.
    """
    line, start, length, first, last = part_of(seq, size, part_size)
    part, parts = tl.program_id(2), tl.num_programs(2)
    bins, local = tl.arange(0, BINS), tl.arange(0, BLOCK)
    KEY: tl.constexpr = tl.uint64 if F[0] == 64 else tl.uint32

    totals, before = tl.zeros((BINS,), tl.int32), tl.zeros((BINS,), tl.int32)
    for each in range(parts):
        counted = tl.load(counts + (line * parts + each) * BINS + bins)
        totals += counted
        before += tl.where(each < part, counted, 0)
    chosen = tl.sum((tl.cumsum(totals, 0, reverse=True) >= topk).to(tl.int32), 0) - 1
    room = topk - tl.sum(tl.where(bins > chosen, totals, 0), 0)
    candidates = tl.sum(tl.where(bins == chosen, totals, 0), 0)
    above_before = tl.sum(tl.where(bins > chosen, before, 0), 0)
    spare_before = tl.sum(tl.where(bins == chosen, before, 0), 0)

    column = slice_start(size)
    values += line * topk
    indices += line * topk
    spare_values += line * room_for
    spare_columns += line * room_for
    none = tl.zeros((BLOCK,), KEY)
    least, most = ~none, none
    for begin in range(first, last, BLOCK):
        here = begin + local < last
        score = tl.load(scores + start + begin + local, mask=here, other=0.0)
        keys = keys_of(score, F)
        its_bins = bins_of(keys, F)
        above, candidate = here & (its_bins > chosen), here & (its_bins == chosen)
        least = tl.minimum(least, tl.where(candidate, keys, ~none))
        most = tl.maximum(most, tl.where(candidate, keys, none))
        # one scan of both counts
        both = above.to(tl.int32) + (candidate.to(tl.int32) << 16)
        places = tl.cumsum(both, 0) - both
        taken = above_before + (places & 0xFFFF)
        spare = spare_before + (places >> 16)
        above_before += tl.sum(above.to(tl.int32), 0)
        spare_before += tl.sum(candidate.to(tl.int32), 0)
        candidate = candidate & (spare < room_for)
        numbers = column + begin + local
        if TRACED:
            numbers = tl.load(origins + start + begin + local, mask=above | candidate, other=0)
        tl.store(values + taken, score, mask=above)
        tl.store(indices + taken, numbers, mask=above)
        tl.store(spare_values + spare, score, mask=candidate)
        tl.store(spare_columns + spare, numbers, mask=candidate)
    at = bounds + (line * parts + part) * 2
    tl.store(at, tl.min(least, 0).to(tl.int64))
    tl.store(at + 1, tl.max(most, 0).to(tl.int64))

    tl.debug_barrier()  # all threads store before the part is counted as done
    if tl.atomic_add(arrived + line, 1) == parts - 1:
        tl.debug_barrier()
        low, high = tl.full((), 0, KEY), tl.full((), 0, KEY)
        low = ~low
        for each in range(parts):
            at = bounds + (line * parts + each) * 2
            low = tl.minimum(low, tl.load(at).to(KEY))
            high = tl.maximum(high, tl.load(at + 1).to(KEY))
        if candidates <= room_for:
            finish(
                spare_values, spare_columns, values, indices, candidates, low, high, room, topk, 0, F, True, BLOCK // 2
            )  # fmt: skip
        else:
            finish(
                scores + start, origins + start, values, indices, length, low, high, room, topk, column, F, TRACED, BLOCK // 2
            )  # fmt: skip


@triton.jit
def finish(
    scores, origins, values, indices, length, least, most, room, topk, column,
    F: tl.constexpr, TRACED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Select the `room` largest of those scores whose keys lie from `least` to `most`."""
    local, bins = tl.arange(0, BLOCK), tl.arange(0, BINS)
    span = most - least
    shift = -8
    rest = span
    while rest > 0:
        rest = rest >> 8
        shift += 8
    smallest = span - span
    above_before, left = topk - room, room
    while shift >= 0:
        counts = tl.zeros((BINS,), tl.int32)
        for begin in range(0, length, BLOCK):
            here = begin + local < length
            offset = keys_of(tl.load(scores + begin + local, mask=here, other=0.0), F) - least
            digits = offset >> shift
            here = here & (offset <= span) & ((digits >> 8) == smallest)
            counts += tl.histogram((digits & 255).to(tl.int32), BINS, mask=here)
        digit = tl.sum((tl.cumsum(counts, 0, reverse=True) >= left).to(tl.int32), 0) - 1
        left -= tl.sum(tl.where(bins > digit, counts, 0), 0)
        smallest = (smallest << 8) | digit.to(smallest.dtype)
        shift -= 8

    equal_before = topk - left
    begin = 0
    while (above_before < topk - left) | (equal_before < topk):
        here = begin + local < length
        score = tl.load(scores + begin + local, mask=here, other=0.0)
        offset = keys_of(score, F) - least
        here = here & (offset <= span)
        above, equal = here & (offset > smallest), here & (offset == smallest)
        both = above.to(tl.int32) + (equal.to(tl.int32) << 16)
        places = tl.cumsum(both, 0) - both
        position = tl.where(above, above_before + (places & 0xFFFF), equal_before + (places >> 16))
        above_before += tl.sum(above.to(tl.int32), 0)
        equal_before += tl.sum(equal.to(tl.int32), 0)
        taken = above | (equal & (position < topk))
        numbers = column + begin + local
        if TRACED:
            numbers = tl.load(origins + begin + local, mask=taken, other=0)
        tl.store(values + position, score, mask=taken)
        tl.store(indices + position, numbers, mask=taken)
        begin += BLOCK


@triton.jit
def slice_start(size):
    return tl.program_id(1) * size


@triton.jit
def part_of(seq, size, part_size):
    """A program's line, where the line starts and its length, and the columns of the part from … to."""
    row, slice_ = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length = tl.minimum(size, seq - slice_ * size)
    first = tl.program_id(2) * part_size
    last = tl.minimum(first + part_size, length)
    return row * tl.num_programs(1) + slice_, row * seq + slice_ * size, length, first, last


@triton.jit
def keys_of(scores, F: tl.constexpr):
    """Unsigned integers that order as scores do; −0 has the key of 0."""
    KEY: tl.constexpr = tl.uint64 if F[0] == 64 else tl.uint32
    RAW: tl.constexpr = tl.uint16 if F[0] == 16 else KEY
    bits = scores.to(RAW, bitcast=True).to(KEY)
    sign = tl.full(scores.shape, 1, KEY) << (F[0] - 1)
    return tl.where(bits > sign, sign - 1 + sign - bits, sign | bits)


@triton.jit
def bins_of(keys, F: tl.constexpr):
    """The bin of each key, 0 to 255, in the same order.

    The exponents from 2⁻¹⁵ to 2¹⁷ have four bins each. What is nearer to 0 or larger is in the next bin.
    """
    HALF: tl.constexpr = 1 << (F[0] - 1 - F[1])
    NEAR: tl.constexpr = HALF // 2 - 64
    step = (keys >> F[1]).to(tl.int32) - HALF
    positive = tl.minimum(tl.maximum(step - NEAR, 0), 127)
    return positive + tl.minimum(tl.maximum(step + NEAR + 128, 0), 128)
