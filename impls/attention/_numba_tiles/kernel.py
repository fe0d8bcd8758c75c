"""Kernel for tiles of queries, compiled by numba: a thread takes a tile through all branches.

Products are BLAS's. Scores are stored with a row for each key: a product writes it contiguously, and every
step of the softmax runs over all queries at once, as vector instructions. Sums keep the written order: the
compiler may only contract multiplications and additions.
"""

from math import sqrt

import numba
import numpy as np

LOG2_E = np.float32(1.4426950408889634)
# 2^f for f in [-1/2, 1/2] by its Taylor series, ln(2)ⁿ/n!, n = 6 … 1: the remainder is below 2⁻²³.
C6, C5, C4 = np.float32(1.5403530e-4), np.float32(1.3333558e-3), np.float32(9.6181291e-3)
C3, C2, C1 = np.float32(5.5504109e-2), np.float32(0.24022651), np.float32(0.69314718)
ROUND = np.float32(1.5 * 2**23)  # a float plus this has its nearest whole number in the low bits
LEAST = np.float32(-127)  # a power with this exponent has exponent bits 0, and is 0
HIDDEN = np.float32(-3e38)  # the score of a key that a query may not see; −inf − (−inf) would be NaN
FEW_SCORES = 1 << 18  # in f32 1 MiB, the size of a core's own cache
FEWEST_ROWS = 64  # queries of a product: with fewer it is slow
WINDOW_ROWS = 64  # queries that read a window together: with more of them more keys are hidden

_compiled = numba.njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")


@_compiled
def rows_at_once(keys, tile):
    """How many queries' scores for so many keys fit a core's cache."""
    return min(tile, max(FEWEST_ROWS, FEW_SCORES // max(keys, 1) // FEWEST_ROWS * FEWEST_ROWS))


@_compiled
def scratch_size(width, tile, chosen, blocks, window):
    """(Keys gathered at most, f32 numbers that a thread needs) for `chosen` selected tokens."""
    keys = max(chosen, 1)
    scores = max(tile * keys, rows_at_once(blocks, tile) * blocks, WINDOW_ROWS * (window + WINDOW_ROWS))
    return keys, scores + 2 * keys * width + 2 * tile * (width + 1)


@_compiled
def attend_range(
    q, k, v, mean_k, mean_v, picks, gates, result, scratch, first_tile, last_tile, tile, block, window
):
    """Write the gated sum of some tiles, counted from each head's last one, into `result`.

    q and `result` are [b, seq, heads, d], k, v and means [b·kv_heads, n, d], picks [b·heads, tiles, count]
    with −1 for none, gates [b, seq, heads, 3], `scratch` a thread's own numbers, of `scratch_size`.
    """
    seq, heads, width = q.shape[1:]
    blocks, tiles, count = mean_k.shape[1], picks.shape[1], picks.shape[2]
    group = picks.shape[0] // k.shape[0]
    at_once = rows_at_once(blocks, tile)
    most, _ = scratch_size(width, tile, count * block, blocks, window)
    keys = scratch[: most * width].reshape(most, width)
    values = scratch[most * width : 2 * most * width].reshape(most, width)
    rest = scratch[2 * most * width :]
    positions, starts = np.empty(most, np.int64), np.arange(blocks) * block
    for at in range(first_tile, last_tile):
        number, row = tiles - 1 - at // picks.shape[0], at % picks.shape[0]
        pair, first, last = row // group, number * tile, min(seq, (number + 1) * tile)
        queries = q[row // heads, :, row % heads]
        shares, into = gates[row // heads, :, row % heads], result[row // heads, :, row % heads]
        into[first:last] = 0
        for begin in range(first, last, at_once):
            end = min(last, begin + at_once)
            seen = (end + block - 1) // block
            means = mean_k[pair, :seen], mean_v[pair, :seen]
            _add_branch(into, queries, shares[:, 0], begin, end, means, starts[:seen], seq, rest)
        key_count = 0
        for pick in picks[row, number]:
            if pick >= 0:
                begin, end = pick * block, min(seq, (pick + 1) * block)
                stop = key_count + end - begin
                keys[key_count:stop], values[key_count:stop] = k[pair, begin:end], v[pair, begin:end]
                positions[key_count:stop] = np.arange(begin, end)
                key_count = stop
        chosen = keys[:key_count], values[:key_count]
        _add_branch(into, queries, shares[:, 1], first, last, chosen, positions[:key_count], seq, rest)
        for begin in range(first, last, WINDOW_ROWS):
            end = min(last, begin + WINDOW_ROWS)
            oldest = max(0, begin - window + 1)
            near = k[pair, oldest:end], v[pair, oldest:end]
            _add_branch(into, queries, shares[:, 2], begin, end, near, np.arange(oldest, end), window, rest)


@_compiled
def _add_branch(into, queries, shares, first, last, pairs, positions, reach, scratch):
    """Add softmax(q·k/√d)·v times its share to queries first … last, which see `reach` positions."""
    keys, values = pairs
    rows, count, width = last - first, len(keys), queries.shape[1]
    scores = scratch[: count * rows].reshape(count, rows)
    free = scratch[count * rows :]
    query = free[: rows * width].reshape(rows, width)
    weighted = free[rows * width : 2 * rows * width].reshape(rows, width)
    highest = free[2 * rows * width : (2 * width + 1) * rows]
    total = free[(2 * width + 1) * rows : 2 * (width + 1) * rows]
    query[:] = queries[first:last]
    np.dot(keys, query.T, scores)
    for j in range(count):
        position, of_key = positions[j], scores[j]
        if position > first or position <= last - 1 - reach:
            for i in range(rows):
                if position > first + i or position <= first + i - reach:
                    of_key[i] = HIDDEN
    _take_softmax(scores, highest, total, LOG2_E / np.float32(sqrt(width)))
    np.dot(scores.T, values, weighted)
    for i in range(rows):
        if highest[i] == HIDDEN and total[i] == total[i]:
            continue  # the query sees no key, and the branch adds nothing; numba's max may drop a NaN
        factor, row = shares[first + i] / total[i], into[first + i]
        for d in range(width):
            row[d] += weighted[i, d] * factor


@_compiled
def _take_softmax(scores, highest, total, scale):
    """Turn scores [keys, queries] into 2^(scale·(s − max)) in place; write sums over keys into `total`."""
    count, rows = scores.shape
    highest[:], total[:] = HIDDEN, 0
    for j in range(count):
        row = scores[j]
        for i in range(rows):
            highest[i] = max(row[i], highest[i])
    for j in range(count):
        row = scores[j]
        for i in range(rows):
            # The difference first: it is exact where it matters, and never above 0. A product contracted with
            # a subtraction could be above 0.
            power = _power_of_two((row[i] - highest[i]) * scale)
            row[i] = power
            total[i] += power


@_compiled
def _power_of_two(x):
    """2^x for x ≤ 0 in f32, 0 below −126.5, NaN for NaN, without a conditional branch."""
    x = LEAST if x < LEAST else x  # noqa: FURB136 - numba's max may drop a NaN
    shifted = x + ROUND
    f = x - (shifted - ROUND)
    series = (((((C6 * f + C5) * f + C4) * f + C3) * f + C2) * f + C1) * f + np.float32(1)
    exponent = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    return series * np.int32(exponent).view(np.float32)
