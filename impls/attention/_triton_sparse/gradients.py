"""Kernels of the backward. One program computes a sum, in one order: two runs give the same bits.

Weights are recomputed from the logarithms that the forward stored. What a branch's softmax subtracts from the
cotangents of its weights is the product of its result and its cotangent, which is also its gate's gradient.
"""

import triton
import triton.language as tl

from .keys import MEANS, keys_at, places_of, product
from .tiles import list_of, load_rows, share_of, store_rows, tile_of, zero_rows


@triton.jit
def branch_products(
    parts, grad, gates, gates_grad, sums, count,
    P: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Σ result · cotangent of each branch and row: a gate's gradient; times the gate, a softmax's `sums`."""
    numbers = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    exist = numbers < count
    given = load_rows(grad, numbers, exist, P).to(tl.float32)
    for branch in tl.static_range(3):
        if P.branches >> branch & 1:
            at = (branch if P.branches == 7 else 0) * count
            part = load_rows(parts, numbers + at, exist, P).to(tl.float32)
            found = tl.sum(part * given, 1)
            if P.share == 0:
                place = gates_grad + numbers * 3 + branch
                tl.store(place, found.to(gates_grad.dtype.element_ty), mask=exist)
            tl.store(sums + at + numbers, found * share_of(gates, numbers, exist, branch, P), mask=exist)


@triton.jit
def query_gradient_of_branch(
    of_query, query, given, share, log, product_sum, rows, first, last, k, v, k_sums, v_sums, base, picks,
    seq, means, KIND: tl.constexpr, ATOMIC: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Add one branch to `of_query`, without the scale; `ATOMIC` also adds to keys and values."""
    begin, end = places_of(first, last, picks, seq, means, KIND, P)
    for place in range(begin, end, BN):
        keys, exist, seen = keys_at(place, end, rows, picks, seq, KIND, P, BN)
        numbers = base + keys.to(tl.int64) * P.kv_heads
        key = load_rows(k, numbers, exist, P)
        value = load_rows(v, numbers, exist, P)
        weights = tl.where(seen, tl.exp2(product(query, key) * P.scale2 - log[:, None]), 0.0)
        slopes = weights * (share[:, None] * product(given, value) - product_sum[:, None])
        slopes = slopes.to(query.dtype)
        of_query = tl.dot(slopes, key.to(query.dtype), of_query, input_precision="ieee", out_dtype=tl.float32)
        if ATOMIC:
            column = tl.arange(0, P.columns)
            inside = exist[:, None] & (column < P.width)[None, :]
            at = numbers[:, None] * P.width + column[None, :]
            of_key = tl.dot(tl.trans(slopes), query, input_precision="ieee", out_dtype=tl.float32)
            tl.atomic_add(k_sums + at, of_key * P.scale, mask=inside, sem="relaxed")
            weights = tl.trans((weights * share[:, None]).to(given.dtype))
            of_value = tl.dot(weights, given, input_precision="ieee", out_dtype=tl.float32)
            tl.atomic_add(v_sums + at, of_value, mask=inside, sem="relaxed")
    return of_query


@triton.jit
def query_gradients(
    q, k, v, means_k, means_v, picks, gates, grad, logs, sums, q_grad, k_sums, v_sums, seq, means, count,
    P: tl.constexpr, BRANCHES: tl.constexpr, SUM: tl.constexpr, ATOMIC: tl.constexpr,
    TILE: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The gradient of a tile of queries by the requested branches; `SUM` adds it to the existing values."""
    batch, unit, tile, first, last, rows, numbers, exist = tile_of(seq, TILE, GROUP, P, BM)
    query = load_rows(q, numbers, exist, P)
    given = load_rows(grad, numbers, exist, P)
    head = unit * GROUP // P.heads_of_key
    at = batch.to(tl.int64) * seq * P.kv_heads + head
    of_means = batch.to(tl.int64) * means * P.kv_heads + head
    lists = list_of(picks, batch, unit, tile, seq, P)
    of_query = zero_rows(BM, P)
    for branch in tl.static_range(3):
        if BRANCHES >> branch & 1:
            share = share_of(gates, numbers, exist, branch, P)
            part = (branch if P.branches == 7 else 0) * count
            log = tl.load(logs + part + numbers, mask=exist, other=0.0)
            product_sum = tl.load(sums + part + numbers, mask=exist, other=0.0)
            if branch == MEANS:
                of_query = query_gradient_of_branch(
                    of_query, query, given, share, log, product_sum, rows, first, last, means_k, means_v,
                    k_sums, v_sums, of_means, lists, seq, means, branch, False, P, BN,
                )  # fmt: skip
            else:
                of_query = query_gradient_of_branch(
                    of_query, query, given, share, log, product_sum, rows, first, last, k, v,
                    k_sums, v_sums, at, lists, seq, means, branch, ATOMIC and branch == 1, P, BN,
                )  # fmt: skip
    of_query = of_query * P.scale
    if SUM:
        of_query += load_rows(q_grad, numbers, exist, P).to(tl.float32)
    store_rows(q_grad, numbers, of_query, exist, P)
