"""Kernels of `triton_radix_select` and `triton_two_stage`.

A line is a slice of a row. Several programs share it, with a part each. A bin is an interval of scores with
the same sign, exponent and first two bits of the fraction. In f32, the bin of the k-th of 64Ki normal scores
has about 2 % of them.
"""

import triton
import triton.language as tl

BINS = tl.constexpr(256)


@triton.jit
def count(scores, counts, arrived, seq, size, part_size, F: tl.constexpr, BLOCK: tl.constexpr):
    """Count the scores of a part of a line in each bin."""
    line, start, first, last = part_of(seq, size, part_size)
    part = tl.program_id(2)
    counted = tl.zeros((BINS,), tl.int32)
    for begin in range(first, last, BLOCK):
        column = begin + tl.arange(0, BLOCK)
        keys = keys_of(tl.load(scores + start + column, mask=column < last, other=0.0), F)
        counted += tl.histogram(bins_of(keys, F), BINS, mask=column < last)
    tl.store(counts + (line * tl.num_programs(2) + part) * BINS + tl.arange(0, BINS), counted)
    tl.store(arrived + line, 0, mask=part == 0)


@triton.jit
def select(
    scores, origins, values, indices, counts, arrived, bounds, lists,
    seq, size, part_size, topk, room,
    F: tl.constexpr, TRACED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Select the `topk` largest of a line, which has at least as many scores.

    The counts give the bin of the smallest selected score. The scores of this bin are the candidates. Each
    program writes the columns of its scores of greater bins to the line's list, and those of its candidates
    from `topk` on, up to `room` of them. The last program of the line to arrive selects among the candidates.
    The order is: scores of greater bins, candidates above the smallest, candidates equal to it, each by
    column. So the order of programs does not matter. For a TRACED row the column numbers are in `origins`,
    which has the row's shape.
    """
    line, start, first, last = part_of(seq, size, part_size)
    part, parts = tl.program_id(2), tl.num_programs(2)
    bins = tl.arange(0, BINS)
    KEY: tl.constexpr = tl.uint64 if F[0] == 64 else tl.uint32
    scores += start
    lists += line * (topk + room)

    totals, before = tl.zeros((BINS,), tl.int32), tl.zeros((BINS,), tl.int32)
    for each in range(parts):
        counted = tl.load(counts + (line * parts + each) * BINS + bins)
        totals += counted
        before += tl.where(each < part, counted, 0)
    chosen = tl.sum((tl.cumsum(totals, 0, reverse=True) >= topk).to(tl.int32), 0) - 1
    above = tl.sum(tl.where(bins > chosen, totals, 0), 0)
    candidates = tl.sum(tl.where(bins == chosen, totals, 0), 0)
    above_before = tl.sum(tl.where(bins > chosen, before, 0), 0)
    candidates_before = topk + tl.sum(tl.where(bins == chosen, before, 0), 0)

    # A thread has four adjacent columns, so its loads are wide. Each store takes one of the four, because a
    # store of all four would first move their addresses between threads.
    local = 4 * tl.arange(0, BLOCK // 4)[:, None] + tl.arange(0, 4)[None, :]
    highs = tl.zeros((BLOCK // 4, 4), KEY)
    lows = highs - 1  # the largest key
    for begin in range(first, last, BLOCK):
        column = begin + local
        here = column < last
        keys = keys_of(tl.load(scores + column, mask=here, other=0.0), F)
        its_bins = bins_of(keys, F)
        is_above, is_candidate = here & (its_bins > chosen), here & (its_bins == chosen)
        lows = tl.where(is_candidate, tl.minimum(lows, keys), lows)
        highs = tl.where(is_candidate, tl.maximum(highs, keys), highs)
        both = is_above.to(tl.int32) + (is_candidate.to(tl.int32) << 16)  # one scan counts both
        of_four = tl.sum(both, 1)
        places = tl.cumsum(both, 1) - both + (tl.cumsum(of_four, 0) - of_four)[:, None]
        place = tl.where(is_above, above_before + (places & 0xFFFF), candidates_before + (places >> 16))
        place = tl.where((is_above | is_candidate) & (place < topk + room), place, -1)
        even, odd = tl.split(tl.reshape(place, (BLOCK // 4, 2, 2)))
        place_0, place_2 = tl.split(even)
        place_1, place_3 = tl.split(odd)
        column = begin + 4 * tl.arange(0, BLOCK // 4)
        tl.store(lists + place_0, column, mask=place_0 >= 0)
        tl.store(lists + place_1, column + 1, mask=place_1 >= 0)
        tl.store(lists + place_2, column + 2, mask=place_2 >= 0)
        tl.store(lists + place_3, column + 3, mask=place_3 >= 0)
        found = tl.sum(of_four, 0)
        above_before += found & 0xFFFF
        candidates_before += found >> 16
    bounds += line * parts * 2
    tl.store(bounds + 2 * part, tl.min(tl.reshape(lows, (BLOCK,)), 0).to(tl.int64))
    tl.store(bounds + 2 * part + 1, tl.max(tl.reshape(highs, (BLOCK,)), 0).to(tl.int64))

    tl.debug_barrier()  # all threads store before the part is counted as done
    if tl.atomic_add(arrived + line, 1) == parts - 1:
        least, most = tl.load(bounds).to(KEY), tl.load(bounds + 1).to(KEY)
        for each in range(1, parts):
            least = tl.minimum(least, tl.load(bounds + 2 * each).to(KEY))
            most = tl.maximum(most, tl.load(bounds + 2 * each + 1).to(KEY))
        listed = tl.where(candidates <= room, candidates, 0)
        length = tl.where(candidates <= room, candidates, tl.sum(totals, 0))
        complete(scores, lists, listed, length, least, most, above, topk, F, BLOCK)
        tl.debug_barrier()
        for begin in range(0, topk, BLOCK):
            place = begin + tl.arange(0, BLOCK)
            here = place < topk
            column = tl.load(lists + place, mask=here, other=0)
            tl.store(values + line * topk + place, tl.load(scores + column, mask=here), mask=here)
            if TRACED:
                column = tl.load(origins + start + column, mask=here, other=0)
            else:
                column += tl.program_id(1) * size
            tl.store(indices + line * topk + place, column, mask=here)


@triton.jit
def complete(scores, lists, listed, length, least, most, above, topk, F: tl.constexpr, BLOCK: tl.constexpr):
    """Complete a list of `topk` columns, which already has `above`, from the candidates.

    The list has `listed` candidates. If that is 0, they are all scores of the line with keys from `least` to
    `most`. The distances of their keys from `least` are compared by digits of eight bits. If all keys are
    equal, there are no digits.
    """
    local, bins = tl.arange(0, BLOCK), tl.arange(0, BINS)
    offers, span = lists + topk, most - least
    rest, shift = span, -8
    while rest > 0:
        rest, shift = rest >> 8, shift + 8
    smallest = span - span  # leading digits of the smallest selected distance
    room = topk - above  # for candidates with these digits
    while shift >= 0:
        counts = tl.zeros((BINS,), tl.int32)
        for begin in range(0, length, BLOCK):
            _, distance, here = candidates_at(scores, offers, listed, begin + local, length, least, span, F)
            digits = distance >> shift
            here = here & ((digits >> 8) == smallest)
            counts += tl.histogram((digits & 255).to(tl.int32), BINS, mask=here)
        digit = tl.sum((tl.cumsum(counts, 0, reverse=True) >= room).to(tl.int32), 0) - 1
        room -= tl.sum(tl.where(bins > digit, counts, 0), 0)
        smallest = (smallest << 8) | digit.to(smallest.dtype)
        shift -= 8

    equal_before = topk - room
    begin = 0
    while (begin < length) & ((above < topk - room) | (equal_before < topk)):
        column, distance, here = candidates_at(scores, offers, listed, begin + local, length, least, span, F)
        is_above, is_equal = here & (distance > smallest), here & (distance == smallest)
        both = is_above.to(tl.int32) + (is_equal.to(tl.int32) << 16)
        places = tl.cumsum(both, 0) - both
        place = tl.where(is_above, above + (places & 0xFFFF), equal_before + (places >> 16))
        tl.store(lists + place, column, mask=(is_above | is_equal) & (place < topk))
        found = tl.sum(both, 0)
        above += found & 0xFFFF
        equal_before += found >> 16
        begin += BLOCK


@triton.jit
def candidates_at(scores, offers, listed, place, length, least, span, F: tl.constexpr):
    """(columns at these places, the distances of their keys from `least`, which of them are candidates)."""
    here = place < length
    column = tl.where(place < listed, tl.load(offers + place, mask=place < listed, other=0), place)
    distance = keys_of(tl.load(scores + column, mask=here, other=0.0), F) - least
    return column, distance, here & (distance <= span)


@triton.jit
def part_of(seq, size, part_size):
    """(a program's line, the line's first element, its part's first column, the column after the last)."""
    row, slice_ = tl.program_id(0).to(tl.int64), tl.program_id(1)
    first = tl.program_id(2) * part_size
    last = tl.minimum(first + part_size, tl.minimum(size, seq - slice_ * size))
    return row * tl.num_programs(1) + slice_, row * seq + slice_ * size, first, last


@triton.jit
def keys_of(scores, F: tl.constexpr):
    """Unsigned integers that order as scores do; −0 has the key of 0.

    Positive scores get the sign bit, and negative ones are inverted.
    """
    KEY: tl.constexpr = tl.uint64 if F[0] == 64 else tl.uint32
    RAW: tl.constexpr = tl.uint16 if F[0] == 16 else KEY
    bits = scores.to(RAW, bitcast=True).to(KEY)
    sign = tl.full(scores.shape, 1, KEY) << (F[0] - 1)
    return tl.where(bits > sign, sign - 1 + sign - bits, sign | bits)


@triton.jit
def bins_of(keys, F: tl.constexpr):
    """The bin of each key, 0 to 255, in the same order.

    The exponents from 2⁻¹⁵ to 2¹⁷ have four bins each. Scores nearer to 0 or larger are in the next bin.
    """
    HALF: tl.constexpr = 1 << (F[0] - 1 - F[1])
    NEAR: tl.constexpr = HALF // 2 - 64
    step = (keys >> F[1]).to(tl.int32) - HALF
    positive = tl.minimum(tl.maximum(step - NEAR, 0), 127)
    return positive + tl.minimum(tl.maximum(step + NEAR + 128, 0), 128)
