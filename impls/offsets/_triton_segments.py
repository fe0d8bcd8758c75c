"""Kernel of `triton_segments` and its functions.

A run is a sequence of equal ids; padding forms runs as well. `first` and `last` are the keys of a run's two
ends. A key is what the mask compares: the position, or under `bottom_right` the position minus the run's
length.
"""

import triton
import triton.language as tl

LARGEST = tl.constexpr(2**31 - 1)
SMALLEST = tl.constexpr(-(2**31))


@triton.jit
def segments(
    ids_q, ids_kv, positions_q, positions_kv,
    lengths_q, lengths_kv, offsets_q, offsets_kv,
    marks, counts, runs, arrived,
    seq_q, seq_kv, blocks_q, blocks_kv, places,
    KIND: tl.constexpr, BLOCK: tl.constexpr, RUNS: tl.constexpr,
):  # fmt: skip
    """Mark the run starts in a block of one side of one row; a row's last program finishes the row."""
    number, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    blocks = blocks_q + blocks_kv
    marks += row * blocks * BLOCK
    counts += row * blocks
    ids_q += row * seq_q
    ids_kv += row * seq_kv
    if number < blocks_q:
        mark(ids_q, seq_q, number, marks + number * BLOCK, counts + number, BLOCK)
    else:
        mark(ids_kv, seq_kv, number - blocks_q, marks + number * BLOCK, counts + number, BLOCK)
    tl.debug_barrier()  # all threads write their marks before the block is counted as done
    if tl.atomic_add(arrived + row, 1) == blocks - 1:
        positions_q += row * seq_q
        positions_kv += row * seq_kv
        runs_q = runs + row * (seq_q + seq_kv + 2)
        runs_kv = runs_q + seq_q + 1
        known_q = gather(marks, counts, blocks_q, seq_q, runs_q, BLOCK)
        known_kv = gather(marks + blocks_q * BLOCK, counts + blocks_q, blocks_kv, seq_kv, runs_kv, BLOCK)
        tl.debug_barrier()
        lengths_and_offsets(
            runs_q, known_q, ids_q, positions_q, runs_kv, known_kv, ids_kv, positions_kv,
            lengths_q + row * places, offsets_q + row * (places + 1), places, True, KIND, RUNS,
        )  # fmt: skip
        lengths_and_offsets(
            runs_kv, known_kv, ids_kv, positions_kv, runs_q, known_q, ids_q, positions_q,
            lengths_kv + row * places, offsets_kv + row * (places + 1), places, False, KIND, RUNS,
        )  # fmt: skip


@triton.jit
def mark(ids, seq, block, marks, count, BLOCK: tl.constexpr):
    """Index of each run start within its block, in order, and the number of run starts."""
    place = tl.arange(0, BLOCK)
    token = block * BLOCK + place
    inside = token < seq
    mine = tl.load(ids + token, mask=inside, other=0)
    before = tl.load(ids + token - 1, mask=inside & (token > 0), other=0)
    begins = (inside & ((mine != before) | (token == 0))).to(tl.int32)
    rank = tl.cumsum(begins, 0) - 1
    tl.store(marks + rank, place.to(marks.dtype.element_ty), mask=begins != 0)
    tl.store(count, tl.sum(begins, 0))


@triton.jit
def gather(marks, counts, blocks, seq, runs, BLOCK: tl.constexpr):
    """The run starts of all blocks, concatenated, followed by `seq`; and their number."""
    WIDE: tl.constexpr = 64
    DEEP: tl.constexpr = 16
    known = 0
    for begin in range(0, blocks, WIDE):
        block = begin + tl.arange(0, WIDE)
        count = tl.load(counts + block, mask=block < blocks, other=0)
        first = known + tl.cumsum(count, 0) - count
        for rank in range(0, tl.max(count, 0), DEEP):
            which = rank + tl.arange(0, DEEP)[None, :]
            there = which < count[:, None]
            place = tl.load(marks + block[:, None] * BLOCK + which, mask=there, other=0)
            tl.store(runs + first[:, None] + which, block[:, None] * BLOCK + place, mask=there)
        known += tl.sum(count, 0)
    tl.store(runs + known, seq)
    return known


@triton.jit
def look(runs, known, ids, positions, number, KIND: tl.constexpr):
    """Of these runs: start, end, id (0 if none), first and last key, and position − key."""
    there = number < known
    start = tl.load(runs + number, mask=there, other=0)
    end = tl.load(runs + number + 1, mask=there, other=0)
    name = tl.load(ids + start, mask=there, other=0)
    shift = tl.zeros_like(start)
    if KIND == "bottom_right":
        shift = end - start
    first, last = shift, shift
    if KIND != "padding":
        first = tl.load(positions + start, mask=there, other=0) - shift
        last = tl.load(positions + end - 1, mask=there, other=0) - shift
    return start, end, name, first, last, shift


@triton.jit
def lengths_and_offsets(
    runs, known, ids, positions, other_runs, other_known, other_ids, other_positions,
    lengths, offsets, places, QUERIES: tl.constexpr, KIND: tl.constexpr, RUNS: tl.constexpr,
):  # fmt: skip
    """One side of a row: sum the remaining tokens of each run by id, and find where they begin."""
    lane = tl.arange(0, RUNS)
    for begin in range(0, places, RUNS):
        tl.store(lengths + begin + lane, tl.zeros((RUNS,), tl.int32), mask=begin + lane < places)
    tl.debug_barrier()  # other threads add to lengths than those that cleared them
    kept = 0
    for begin in range(0, known, RUNS):
        start, end, name, first, last, shift = look(runs, known, ids, positions, begin + lane, KIND)
        # The key on the other side of the segment that is easiest to pair with.
        best = tl.full((RUNS,), LARGEST if QUERIES else SMALLEST, tl.int32)
        met = tl.zeros((RUNS,), tl.int32)
        for other in range(0, other_known, RUNS):
            _, _, others, least, largest, _ = look(
                other_runs, other_known, other_ids, other_positions, other + lane, KIND
            )
            same = (name[:, None] == others[None, :]) & (name[:, None] != 0)
            met |= tl.max(same.to(tl.int32), 1)
            if QUERIES:
                best = tl.minimum(best, tl.min(tl.where(same, least[None, :], LARGEST), 1))
            else:
                best = tl.maximum(best, tl.max(tl.where(same, largest[None, :], SMALLEST), 1))
        if KIND != "padding":
            # Queries count from `best` on, keys up to it, so the first key that does not count is best + 1.
            bound = tl.where(met != 0, best + shift + (0 if QUERIES else 1), SMALLEST)
            cut = first_at_least(positions, start, end, first + shift, last + shift, bound)
            if QUERIES:
                start = cut
            else:
                end = cut
        length = tl.where(met != 0, end - start, 0)
        tl.atomic_add(lengths + name - 1, length, mask=(length > 0) & (name > 0) & (name <= places))
        left = (length > 0).to(tl.int32)
        rank = kept + tl.cumsum(left, 0) - 1
        tl.store(offsets + rank, start, mask=(left != 0) & (rank <= places))
        kept += tl.sum(left, 0)
    for begin in range(0, places + 1, RUNS):
        unused = begin + lane
        empty = tl.full((RUNS,), -1, tl.int32)
        tl.store(offsets + unused, empty, mask=(unused >= kept) & (unused <= places))


@triton.jit
def first_at_least(positions, start, end, first, last, bound):
    """For each run, where its ascending positions first reach the bound, else its end; all in parallel."""
    low = tl.where((first < bound) & (last < bound), end, start)
    high = tl.where(first >= bound, start, end)
    while tl.max(high - low, 0) > 0:
        open_ = low < high
        middle = (low + high) // 2
        reached = tl.load(positions + middle, mask=open_, other=0) >= bound
        low = tl.where(open_ & (reached == 0), middle + 1, low)
        high = tl.where(open_ & reached, middle, high)
    return low
