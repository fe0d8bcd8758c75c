"""Kernels of the forward: the branches in one pass or separately, and their gated sum."""

import triton
import triton.language as tl

from .keys import MEANS, keys_at, places_of, product
from .tiles import list_of, load_rows, share_of, store_rows, tile_of, zero_rows


@triton.jit
def attend_branch(
    query, rows, first, last, k, v, base, picks, seq, means,
    KIND: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """(softmax-weighted sum, base-2 logarithm of the weights' sum) of each row, by the online softmax.

    A row that sees nothing gives 0. `base` is the number of the key head's first row.
    """
    sums = zero_rows(query.shape[0], P)
    most = tl.full((query.shape[0],), float("-inf"), tl.float32)
    total = tl.zeros((query.shape[0],), tl.float32)
    begin, end = places_of(first, last, picks, seq, means, KIND, P)
    for place in range(begin, end, BN):
        keys, exist, seen = keys_at(place, end, rows, picks, seq, KIND, P, BN)
        numbers = base + keys.to(tl.int64) * P.kv_heads
        key = load_rows(k, numbers, exist, P)
        scores = tl.where(seen, product(query, key) * P.scale2, float("-inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        shift = tl.where(new == float("-inf"), 0.0, new)  # −inf − (−inf) would be NaN
        weights = tl.exp2(scores - shift[:, None])
        fade = tl.exp2(most - shift)
        total = total * fade + tl.sum(weights, 1)
        value = load_rows(v, numbers, exist, P)
        sums = tl.dot(
            weights.to(value.dtype), value, sums * fade[:, None], input_precision="ieee", out_dtype=tl.float32
        )
        most = new
    some = total > 0
    divisor = tl.where(some, total, 1.0)
    return sums / divisor[:, None], tl.where(some, most, 0.0) + tl.log2(divisor)


@triton.jit
def attend(
    q, k, v, means_k, means_v, picks, gates, out, parts, logs, seq, means, count,
    P: tl.constexpr, BRANCHES: tl.constexpr, SUM: tl.constexpr, KEEP: tl.constexpr,
    TILE: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The requested branches, for a tile of queries and the heads that share its keys.

    `SUM` stores the gated sum of all branches; `parts` has the results of the other branches from another
    launch. `KEEP` stores in `parts` and `logs`, [branches, `count` rows], the results of these branches and
    their logarithms.
    """
    batch, unit, tile, first, last, rows, numbers, exist = tile_of(seq, TILE, GROUP, P, BM)
    query = load_rows(q, numbers, exist, P)
    head = unit * GROUP // P.heads_of_key
    at = batch.to(tl.int64) * seq * P.kv_heads + head
    of_means = batch.to(tl.int64) * means * P.kv_heads + head
    lists = list_of(picks, batch, unit, tile, seq, P)
    answer = zero_rows(BM, P)
    for branch in tl.static_range(3):
        part = (branch if P.branches == 7 else 0) * count
        if BRANCHES >> branch & 1:
            if branch == MEANS:
                found, log = attend_branch(
                    query, rows, first, last, means_k, means_v, of_means, lists, seq, means, branch, P, BN
                )
            else:
                found, log = attend_branch(
                    query, rows, first, last, k, v, at, lists, seq, means, branch, P, BN
                )
            if KEEP:
                store_rows(parts, numbers + part, found, exist, P)
                tl.store(logs + part + numbers, log, mask=exist)
            if SUM:
                answer += found * share_of(gates, numbers, exist, branch, P)[:, None]
        elif SUM:
            found = load_rows(parts, numbers + part, exist, P).to(tl.float32)
            answer += found * share_of(gates, numbers, exist, branch, P)[:, None]
    if SUM:
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
