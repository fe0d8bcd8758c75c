"""Kernels of the backward for keys and values: a program has some, and visits the rows that read them."""

import triton
import triton.language as tl

from .keys import product
from .tiles import load_rows, share_of, store_rows, zero_rows


@triton.jit
def add_rows(
    of_key, of_value, key, value, places, numbers, rows, exist, q, grad, gates, logs, sums, count,
    BRANCH: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """Add these rows to the gradients of keys, without the scale, and of values.

    A row sees a key whose place is not later; in the window it does not see keys `window` or more before it.
    """
    part = (BRANCH if P.branches == 7 else 0) * count
    query = load_rows(q, numbers, exist, P)
    given = load_rows(grad, numbers, exist, P)
    log = tl.load(logs + part + numbers, mask=exist, other=0.0)
    product_sum = tl.load(sums + part + numbers, mask=exist, other=0.0)
    share = share_of(gates, numbers, exist, BRANCH, P)
    seen = exist[None, :] & (places[:, None] <= rows[None, :])
    if BRANCH == 2:
        seen = seen & (places[:, None] > rows[None, :] - P.window)
    # Scores are transposed, keys by queries, so that no weights need to be transposed.
    weights = tl.where(seen, tl.exp2(product(key, query) * P.scale2 - log[None, :]), 0.0)
    shared = (weights * share[None, :]).to(given.dtype)
    of_value = tl.dot(shared, given, of_value, input_precision="ieee", out_dtype=tl.float32)
    slopes = weights * (share[None, :] * product(value, given) - product_sum[None, :])
    of_key = tl.dot(slopes.to(query.dtype), query, of_key, input_precision="ieee", out_dtype=tl.float32)
    return of_key, of_value


@triton.jit
def mean_gradients(
    q, means_k, means_v, gates, grad, logs, sums, of_means_k, of_means_v, seq, means, count,
    P: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The gradients of means, [batch, means, heads, width] in f32: each query head's contribution."""
    first = tl.program_id(0) * BN
    batch, head = (tl.program_id(1) // P.heads).to(tl.int64), tl.program_id(1) % P.heads
    mean = first + tl.arange(0, BN)
    inside = mean < means
    base = batch * means * P.kv_heads + head // P.heads_of_key
    key = load_rows(means_k, base + mean.to(tl.int64) * P.kv_heads, inside, P)
    value = load_rows(means_v, base + mean.to(tl.int64) * P.kv_heads, inside, P)
    of_key = zero_rows(BN, P)
    of_value = zero_rows(BN, P)
    for row in range(first * P.stride + P.last, seq, BM):
        rows = row + tl.arange(0, BM)
        numbers = (batch * seq + rows) * P.heads + head
        of_key, of_value = add_rows(
            of_key, of_value, key, value, mean * P.stride + P.last, numbers, rows, rows < seq,
            q, grad, gates, logs, sums, count, 0, P,
        )  # fmt: skip
    numbers = (batch * means + mean) * P.heads + head
    store_rows(of_means_k, numbers, of_key * P.scale, inside, P)
    store_rows(of_means_v, numbers, of_value, inside, P)


@triton.jit
def add_readers(
    of_key, of_value, key, value, keys, begin, end, lists, batch, head, seq,
    q, grad, gates, logs, sums, count, P: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Like `add_rows`, for all rows that read the lists from `begin` to `end`."""
    rows_of_list: tl.constexpr = P.tile * P.group
    base = batch * seq * P.heads + head * P.heads_of_key
    number = ((end - begin) * rows_of_list).to(tl.int32)
    for place in range(0, number, BM):
        places = place + tl.arange(0, BM)
        reader = tl.load(lists + begin + places // rows_of_list, mask=places < number, other=0)
        within = places % rows_of_list
        rows = reader // P.units * P.tile + within // P.group
        numbers = base + rows.to(tl.int64) * P.heads + reader % P.units * P.group + within % P.group
        of_key, of_value = add_rows(
            of_key, of_value, key, value, keys, numbers, rows, (places < number) & (rows < seq),
            q, grad, gates, logs, sums, count, 1, P,
        )  # fmt: skip
    return of_key, of_value


@triton.jit
def further_gradients(
    q, k, v, gates, grad, logs, sums, lists, bounds, further, block_of, k_pieces, v_pieces,
    seq, entries, pieces, count, P: tl.constexpr, PIECE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The contribution, in f32, of a further piece of a block's readers to a part of its keys and values."""
    parts: tl.constexpr = (P.block + BN - 1) // BN
    piece, within = tl.program_id(0) // parts, tl.program_id(0) % parts * BN + tl.arange(0, BN)
    batch, head = (tl.program_id(1) // P.kv_heads).to(tl.int64), tl.program_id(1) % P.kv_heads
    line = batch * P.lists + head % P.lists
    blocks = (seq + P.block - 1) // P.block
    block = tl.load(block_of + line * pieces + piece).to(tl.int32)
    if block < blocks:
        keys = block * P.block + within
        inside = (within < P.block) & (keys < seq)
        numbers = (batch * seq + keys) * P.kv_heads + head
        key = load_rows(k, numbers, inside, P)
        value = load_rows(v, numbers, inside, P)
        edge = line * (blocks + 1) + block
        begin = tl.load(bounds + edge) + (piece - tl.load(further + edge) + 1) * PIECE
        of_key = zero_rows(BN, P)
        of_value = zero_rows(BN, P)
        of_key, of_value = add_readers(
            of_key, of_value, key, value, keys, begin, tl.minimum(begin + PIECE, tl.load(bounds + edge + 1)),
            lists + line * entries, batch, head, seq, q, grad, gates, logs, sums, count, P, BM,
        )  # fmt: skip
        numbers = (tl.program_id(1).to(tl.int64) * pieces + piece) * P.block + within
        store_rows(k_pieces, numbers, of_key, inside, P)
        store_rows(v_pieces, numbers, of_value, inside, P)


@triton.jit
def key_gradients(
    q, k, v, gates, grad, logs, sums, lists, bounds, further, k_pieces, v_pieces,
    of_means_k, of_means_v, k_sums, v_sums, k_grad, v_grad, seq, entries, pieces, means, count,
    P: tl.constexpr, PIECE: tl.constexpr, ADD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The gradients of a part of a block's keys and values, from all branches.

    The rows that picked the block contribute through its first `PIECE` readers, and through the results of
    the further pieces, which with `ADD` are in `k_sums` and `v_sums`, scaled.
    """
    parts: tl.constexpr = (P.block + BN - 1) // BN
    block, within = tl.program_id(0) // parts, tl.program_id(0) % parts * BN + tl.arange(0, BN)
    batch, head = (tl.program_id(1) // P.kv_heads).to(tl.int64), tl.program_id(1) % P.kv_heads
    keys = block * P.block + within
    inside = (within < P.block) & (keys < seq)
    numbers_of_keys = (batch * seq + keys) * P.kv_heads + head
    key = load_rows(k, numbers_of_keys, inside, P)
    value = load_rows(v, numbers_of_keys, inside, P)
    of_key = zero_rows(BN, P)
    of_value = zero_rows(BN, P)
    if not ADD:
        line = batch * P.lists + head % P.lists
        edge = line * ((seq + P.block - 1) // P.block + 1) + block
        begin = tl.load(bounds + edge)
        of_key, of_value = add_readers(
            of_key, of_value, key, value, keys, begin, tl.minimum(begin + PIECE, tl.load(bounds + edge + 1)),
            lists + line * entries, batch, head, seq, q, grad, gates, logs, sums, count, P, BM,
        )  # fmt: skip
        for piece in range(tl.load(further + edge), tl.load(further + edge + 1)):
            numbers = (tl.program_id(1).to(tl.int64) * pieces + piece) * P.block + within
            of_key += load_rows(k_pieces, numbers, inside, P)
            of_value += load_rows(v_pieces, numbers, inside, P)
    if P.branches >> 2 & 1:
        first = block * P.block + tl.program_id(0) % parts * BN
        base = batch * seq * P.heads + head * P.heads_of_key
        last = tl.minimum(first + BN, block * P.block + P.block) - 1
        number = (tl.minimum(last + P.window, seq) - first) * P.heads_of_key
        for place in range(0, number, BM):
            places = place + tl.arange(0, BM)
            rows = first + places // P.heads_of_key
            numbers = base + rows.to(tl.int64) * P.heads + places % P.heads_of_key
            of_key, of_value = add_rows(
                of_key, of_value, key, value, keys, numbers, rows, places < number,
                q, grad, gates, logs, sums, count, 2, P,
            )  # fmt: skip
    of_key = of_key * P.scale
    if ADD:
        of_key += load_rows(k_sums, numbers_of_keys, inside, P)
        of_value += load_rows(v_sums, numbers_of_keys, inside, P)
    if P.branches & 1:
        for overlap in range((P.length + P.stride - 1) // P.stride):
            mean = keys // P.stride - overlap
            rest = seq - mean * P.stride
            holds = inside & (mean >= 0) & (mean < means) & (keys - mean * P.stride < P.length)
            weight = 1.0 / tl.maximum(tl.minimum(rest, P.length), 1).to(tl.float32)
            for member in range(P.heads_of_key):
                numbers = (batch * means + mean) * P.heads + head * P.heads_of_key + member
                of_key += load_rows(of_means_k, numbers, holds, P) * weight[:, None]
                of_value += load_rows(of_means_v, numbers, holds, P) * weight[:, None]
    store_rows(k_grad, numbers_of_keys, of_key, inside, P)
    store_rows(v_grad, numbers_of_keys, of_value, inside, P)
