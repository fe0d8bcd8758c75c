"""Kernels of the backward. One program computes each sum, in one order, so two runs give the same bits.

Weights are recomputed from the logarithms that the forward stored. A branch's softmax subtracts the product
of the branch's result and its cotangent from the cotangents of the weights. This product is also the gradient
of the branch's gate.

On a Hopper GPU, a product uses the matrix units of a warp group only if its result has at least 64 rows. A
tile of queries has that many rows. Then `AXIS`, the axis of keys in scores, is 1. The heads that share a list
may be fewer. Then scores and queries' gradients are transposed (`AXIS` is 0): their rows are keys and the
columns of the head.
"""

import triton
import triton.language as tl

from .keys import MEANS, parts_of, pick_of, product, tile_at, tile_count
from .tiles import list_of, load_rows, share_of, store_rows, tile_of


@triton.jit
def branch_products(parts, grad, gates_grad, sums, count, P: tl.constexpr, BM: tl.constexpr):
    """Σ result · cotangent of each branch and row: a gate's gradient, and a softmax's `sums`."""
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
            tl.store(sums + at + numbers, found, mask=exist)


@triton.jit
def add_keys(
    of_query, query, given, share, log, product_sum, rows, begin, low, high, end, k, v, k_sums, v_sums, picks,
    limit, KIND: tl.constexpr, TERMS: tl.constexpr, MASKED: tl.constexpr, ATOMIC: tl.constexpr,
    AXIS: tl.constexpr, P: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Add the full tiles, which every row sees, or the `MASKED` tiles around them, to `of_query`.

    The sum is not yet scaled. A key is the sum of `TERMS` rows, the last of which is the rounded key.
    `ATOMIC` also adds to the gradients of keys and values.
    """
    pick = pick_of(0, begin, low, high, picks, KIND, MASKED, P, BN)
    for number in range(tile_count(begin, low, high, end, MASKED, BN)):
        start, numbers, exist, seen = tile_at(
            number, pick, begin, low, high, end, rows, limit, KIND, MASKED, AXIS, P, BN
        )
        pick = pick_of(number + 1, begin, low, high, picks, KIND, MASKED, P, BN)
        key = load_rows(k + start, numbers, exist, P)
        value = load_rows(v + start, numbers, exist, P)
        if AXIS == 1:
            scores = product(query, key)
            slopes = product(given, value)
        else:
            scores = product(key, query)
            slopes = product(value, given)
        if KIND == MEANS:
            for term in tl.static_range(1, TERMS):
                at = k + tl.cast(limit, tl.int64) * (term * P.kv_heads * P.width)
                key = load_rows(at + start, numbers, exist, P)
                scores = tl.dot(query, tl.trans(key), scores, out_dtype=tl.float32)
        weights = tl.exp2(scores * P.scale2 - tl.expand_dims(log, AXIS))
        if MASKED:
            weights = tl.where(seen, weights, 0.0)
        weights = weights * tl.expand_dims(share, AXIS)
        slopes = (weights * (slopes - tl.expand_dims(product_sum, AXIS))).to(query.dtype)
        key = key.to(query.dtype)
        if AXIS == 1:
            of_query = tl.dot(slopes, key, of_query, input_precision="ieee", out_dtype=tl.float32)
        else:
            of_query = tl.dot(tl.trans(key), slopes, of_query, input_precision="ieee", out_dtype=tl.float32)
        if ATOMIC:
            weights = weights.to(given.dtype)
            if AXIS == 1:
                slopes = tl.trans(slopes)
                weights = tl.trans(weights)
            column = tl.arange(0, P.columns)
            inside = exist[:, None] & (column < P.width)[None, :]
            at = start + numbers[:, None] * P.width + column[None, :]
            of_key = tl.dot(slopes, query, input_precision="ieee", out_dtype=tl.float32)
            tl.atomic_add(k_sums + at, of_key * P.scale, mask=inside, sem="relaxed")
            of_value = tl.dot(weights, given, input_precision="ieee", out_dtype=tl.float32)
            tl.atomic_add(v_sums + at, of_value, mask=inside, sem="relaxed")
    return of_query


@triton.jit
def query_gradients(
    q, k, v, means_k, means_v, picks, gates, grad, logs, sums, q_grad, k_sums, v_sums, seq, means, count,
    P: tl.constexpr, BRANCHES: tl.constexpr, TERMS: tl.constexpr, SUM: tl.constexpr, ATOMIC: tl.constexpr,
    TILE: tl.constexpr, GROUP: tl.constexpr, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The gradient of a tile of queries by the requested branches; `SUM` adds it to the existing values."""
    batch, unit, tile, first, last, rows, numbers, exist = tile_of(seq, TILE, GROUP, P, BM)
    query = load_rows(q, numbers, exist, P)
    given = load_rows(grad, numbers, exist, P)
    head = unit * GROUP // P.heads_of_key
    lists = list_of(picks, batch, unit, tile, seq, P)
    columns: tl.constexpr = P.columns
    of_query = tl.zeros((BM, columns) if AXIS == 1 else (columns, BM), tl.float32)
    for branch in tl.static_range(3):
        if BRANCHES >> branch & 1:
            share = share_of(gates, numbers, exist, branch, P)
            part = (branch if P.branches == 7 else 0) * count
            log = tl.load(logs + part + numbers, mask=exist, other=0.0)
            product_sum = tl.load(sums + part + numbers, mask=exist, other=0.0)
            limit = means if branch == MEANS else seq
            keys = means_k if branch == MEANS else k
            values = means_v if branch == MEANS else v
            at = (batch.to(tl.int64) * limit * P.kv_heads + head) * P.width
            of_keys = at
            if branch == MEANS:
                of_keys += batch.to(tl.int64) * means * ((TERMS - 1) * P.kv_heads * P.width)
            begin, low, high, end = parts_of(first, last, lists, seq, means, branch, P, BN)
            for masked in tl.static_range(2):
                of_query = add_keys(
                    of_query, query, given, share, log, product_sum, rows, begin, low, high, end,
                    keys + of_keys, values + at, k_sums + at, v_sums + at, lists, limit,
                    branch, TERMS, masked == 1, ATOMIC and branch == 1, AXIS, P, BN,
                )  # fmt: skip
    if AXIS == 0:
        of_query = tl.trans(of_query)
    of_query = of_query * P.scale
    if SUM:
        of_query += load_rows(q_grad, numbers, exist, P).to(tl.float32)
    store_rows(q_grad, numbers, of_query, exist, P)
