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
    scores, origins, values, indices, counts, arrived, bounds, lists,
    seq, size, part_size, topk, room,
    F: tl.constexpr, TRACED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Select the `topk` largest of a line, which has at least as many scores.

    The counts tell the bin of the smallest that is selected. In the line's list a part puts the columns of
    its scores of greater bins, and from `topk` on those of this bin, the candidates, if there is room for all.
    The last program of the line to arrive selects among the candidates. First come the scores of greater
    bins, then the candidates above the smallest, then those equal to it, each by column; so the order of
    programs does not matter. For a TRACED row the column numbers are in `origins`, which has the row's shape.
    """
    line, start, length, first, last = part_of(seq, size, part_size)
    part, parts = tl.program_id(2), tl.num_programs(2)
    bins, local = tl.arange(0, BINS), tl.arange(0, BLOCK)
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
    candidates_before = tl.sum(tl.where(bins == chosen, before, 0), 0)

    none = tl.zeros((BLOCK,), KEY)
    least, most = tl.min(~none, 0), tl.max(none, 0)
    for begin in range(first, last, BLOCK):
        column = begin + local
        here = column < last
        keys = keys_of(tl.load(scores + column, mask=here, other=0.0), F)
        its_bins = bins_of(keys, F)
        is_above, is_candidate = here & (its_bins > chosen), here & (its_bins == chosen)
        least = tl.minimum(least, tl.min(tl.where(is_candidate, keys, ~none), 0))
        most = tl.maximum(most, tl.max(tl.where(is_candidate, keys, none), 0))
        # one scan counts both
        both = is_above.to(tl.int32) + (is_candidate.to(tl.int32) << 16)
        places = tl.cumsum(both, 0) - both
        found = tl.sum(both, 0)
        place = tl.where(is_above, above_before + (places & 0xFFFF), topk + candidates_before + (places >> 16))
        tl.store(lists + place, column, mask=(is_above | is_candidate) & (place < topk + room))
        above_before += found & 0xFFFF
        candidates_before += found >> 16
    at = bounds + (line * parts + part) * 2
    tl.store(at, least.to(tl.int64))
    tl.store(at + 1, most.to(tl.int64))

    tl.debug_barrier()  # all threads store before the part is counted as done
    if tl.atomic_add(arrived + line, 1) == parts - 1:
        for each in range(parts):
            at = bounds + (line * parts + each) * 2
            least = tl.minimum(least, tl.load(at).to(KEY))
            most = tl.maximum(most, tl.load(at + 1).to(KEY))
        listed = tl.where(candidates <= room, candidates, 0)
        finish(
            scores, lists, listed, tl.where(listed > 0, listed, length), least, most, above, topk, F, BLOCK
        )
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
def finish(
    scores, lists, listed, length, least, most, above, topk, F: tl.constexpr, BLOCK: tl.constexpr
):
    """Complete the `topk` columns of a list, of which `above` are there, from its candidates.

    The candidates are `listed`, or are all scores of the line from key `least` to `most`. Their distances from
    `least` are compared by digits of eight bits.
    """
    local, bins = tl.arange(0, BLOCK), tl.arange(0, BINS)
    span = most - least
    rest, shift = span, -8
    while rest > 0:
        rest, shift = rest >> 8, shift + 8
    smallest = span - span  # of those selected: its distance, down to the last digit compared
    room = topk - above  # places for candidates of these digits
    while shift >= 0:
        counts = tl.zeros((BINS,), tl.int32)
        for begin in range(0, length, BLOCK):
            _, distance, here = candidates_at(scores, lists + topk, listed, begin + local, length, least, span, F)
            digits = distance >> shift
            here = here & ((digits >> 8) == smallest)
            counts += tl.histogram((digits & 255).to(tl.int32), BINS, mask=here)
        digit = tl.sum((tl.cumsum(counts, 0, reverse=True) >= room).to(tl.int32), 0) - 1
        room -= tl.sum(tl.where(bins > digit, counts, 0), 0)
        smallest = (smallest << 8) | digit.to(smallest.dtype)
        shift -= 8

    equal_before = topk - room
    begin = 0
    while (above < topk - room) | (equal_before < topk):
        column, distance, here = candidates_at(
            scores, lists + topk, listed, begin + local, length, least, span, F
        )
        is_above, is_equal = here & (distance > smallest), here & (distance == smallest)
        both = is_above.to(tl.int32) + (is_equal.to(tl.int32) << 16)
        places = tl.cumsum(both, 0) - both
        found = tl.sum(both, 0)
        place = tl.where(is_above, above + (places & 0xFFFF), equal_before + (places >> 16))
        tl.store(lists + place, column, mask=(is_above | is_equal) & (place < topk))
        above += found & 0xFFFF
        equal_before += found >> 16
        begin += BLOCK


@triton.jit
def candidates_at(scores, lists, listed, place, length, least, span, F: tl.constexpr):
    """Columns at these places, the distances of their keys from `least`, and which of them are candidates."""
    here = place < length
    column = tl.where(place < listed, tl.load(lists + place, mask=place < listed, other=0), place)
    distance = keys_of(tl.load(scores + column, mask=here, other=0.0), F) - least
    return column, distance, here & (distance <= span)


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
