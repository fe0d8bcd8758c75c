"""Kernels of the forward: the branches together or separately, and their gated sum."""

import triton
import triton.language as tl

from .keys import MEANS, parts_of, pick_of, product, tile_at, tile_count
from .tiles import list_of, load_rows, share_of, store_rows, tile_of, zero_rows


@triton.jit
def attend_keys(
    sums, most, total, query, rows, begin, low, high, end, k, v, picks, limit,
    KIND: tl.constexpr, MASKED: tl.constexpr, AXIS: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The online softmax over full tiles, which every row sees, or over the `MASKED` tiles around them."""
    pick = pick_of(0, begin, low, high, picks, KIND, MASKED, P, BN)
    for number in range(tile_count(begin, low, high, end, MASKED, BN)):
        start, numbers, exist, seen = tile_at(
            number, pick, begin, low, high, end, rows, limit, KIND, MASKED, AXIS, P, BN
        )
        pick = pick_of(number + 1, begin, low, high, picks, KIND, MASKED, P, BN)
        key = load_rows(k + start, numbers, exist, P)
        scores = product(query, key) if AXIS == 1 else product(key, query)
        if MASKED:
            scores = tl.where(seen, scores, float("-inf"))
        new = tl.maximum(most, tl.max(scores, AXIS))
        shift = new * P.scale2
        if MASKED:
            shift = tl.where(new == float("-inf"), 0.0, shift)  # −inf − (−inf) would be NaN
        weights = tl.exp2(scores * P.scale2 - tl.expand_dims(shift, AXIS))
        fade = tl.exp2(most * P.scale2 - shift)
        # Transposed weights are summed once, at the end: their sum crosses warps.
        total = total * fade + tl.sum(weights, 1) if AXIS == 1 else total * fade[None, :] + weights
        value = load_rows(v + start, numbers, exist, P)
        sums = sums * tl.expand_dims(fade, AXIS)
        left = weights.to(value.dtype) if AXIS == 1 else tl.trans(value)
        right = value if AXIS == 1 else weights.to(value.dtype)
        sums = tl.dot(left, right, sums, input_precision="ieee", out_dtype=tl.float32)
        most = new
    return sums, most, total


@triton.jit
def attend_branch(
    query, rows, first, last, k, v, picks, seq, means,
    KIND: tl.constexpr, AXIS: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """(softmax-weighted sum, base-2 logarithm of the weights' sum) of each row, by the online softmax.

    A row that sees nothing gives 0. `k` and `v` point to the key head's first row. `most` is the largest
    score before scaling.
    """
    columns: tl.constexpr = P.columns
    if AXIS == 1:
        sums = tl.zeros((query.shape[0], columns), tl.float32)
        total = tl.zeros((query.shape[0],), tl.float32)
    else:
        sums = tl.zeros((columns, query.shape[0]), tl.float32)
        total = tl.zeros((BN, query.shape[0]), tl.float32)
    most = tl.full((query.shape[0],), float("-inf"), tl.float32)
    limit = means if KIND == MEANS else seq
    begin, low, high, end = parts_of(first, last, picks, seq, means, KIND, P, BN)
    sums, most, total = attend_keys(
        sums, most, total, query, rows, begin, low, high, end, k, v, picks, limit, KIND, False, AXIS, P, BN
    )
    sums, most, total = attend_keys(
        sums, most, total, query, rows, begin, low, high, end, k, v, picks, limit, KIND, True, AXIS, P, BN
    )
    if AXIS == 0:
        total = tl.sum(total, 0)
    some = total > 0
    divisor = tl.where(some, total, 1.0)
    found = sums / tl.expand_dims(divisor, AXIS)
    if AXIS == 0:
        found = tl.trans(found)
    return found, tl.where(some, most * P.scale2, 0.0) + tl.log2(divisor)


@triton.jit
def attend(
    q, k, v, means_k, means_v, picks, gates, out, parts, logs, seq, means, count,
    P: tl.constexpr, BRANCHES: tl.constexpr, SUM: tl.constexpr, KEEP: tl.constexpr,
    TILE: tl.constexpr, GROUP: tl.constexpr, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The requested branches, for a tile of queries and the heads that share its keys.

    `SUM` stores the gated sum of all branches; the results of branches from other launches are in `parts`.
    `KEEP` stores the results of these branches and their logarithms in `parts` and `logs`, [branches, `count`
    rows].
    """
    batch, unit, tile, first, last, rows, numbers, exist = tile_of(seq, TILE, GROUP, P, BM)
    query = load_rows(q, numbers, exist, P)
    head = unit * GROUP // P.heads_of_key
    at = (batch.to(tl.int64) * seq * P.kv_heads + head) * P.width
    of_means = (batch.to(tl.int64) * means * P.kv_heads + head) * P.width
    lists = list_of(picks, batch, unit, tile, seq, P)
    for branch in tl.static_range(3):
        if BRANCHES >> branch & 1:
            if branch == MEANS:
                found, log = attend_branch(
                    query, rows, first, last, means_k + of_means, means_v + of_means, lists, seq, means,
                    branch, AXIS, P, BN,
                )  # fmt: skip
            else:
                found, log = attend_branch(
                    query, rows, first, last, k + at, v + at, lists, seq, means, branch, AXIS, P, BN
                )
            if KEEP:
                part = (branch if P.branches == 7 else 0) * count
                store_rows(parts, numbers + part, found, exist, P)
                tl.store(logs + part + numbers, log, mask=exist)
            if SUM:
                # The sum is in `out` between branches: in registers next to the next branch's it would spill.
                answer = found * share_of(gates, numbers, exist, branch, P)[:, None]
                if BRANCHES & ((1 << branch) - 1):
                    tl.debug_barrier()  # the elements may have been stored by other threads
                    answer += load_rows(out, numbers, exist, P).to(tl.float32)
                if BRANCHES >> branch == 1:
                    for other in tl.static_range(3):
                        if not BRANCHES >> other & 1:
                            found = load_rows(parts, numbers + other * count, exist, P).to(tl.float32)
                            answer += found * share_of(gates, numbers, exist, other, P)[:, None]
                store_rows(out, numbers, answer, exist, P)


@triton.jit
def add_gated(parts, gates, out, count, P: tl.constexpr, BM: tl.constexpr):
    """The gated sum of the branches in `parts`."""
    numbers = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    exist = numbers < count
    answer = zero_rows(BM, P)
    for branch in tl.static_range(3):
        part = load_rows(parts, numbers + branch * count, exist, P).to(tl.float32)
        answer += part * share_of(gates, numbers, exist, branch, P)[:, None]
    store_rows(out, numbers, answer, exist, P)
