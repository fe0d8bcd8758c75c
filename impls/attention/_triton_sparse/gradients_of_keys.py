"""Kernels of the backward for keys and values. A program has some keys and visits the rows that read them."""

import triton
import triton.language as tl

from .keys import product
from .tiles import load_rows, share_of, store_rows, zero_rows


@triton.jit
def add_rows(
    of_key, of_value, key, value, keys, begin, low, high, end, first, lists, batch, head, seq,
    q, grad, gates, logs, sums, count, BRANCH: tl.constexpr, P: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Add rows `begin` … `end` to the gradients of keys, not yet scaled, and of values.

    These rows are those that read `lists`, or those of query `first` and later ones, of all heads of the key
    head. A row sees keys whose place is not later. In the window it does not see keys `window` or more places
    before it. Rows `low` … `high` see all keys. Both bounds are whole tiles after `begin`, or the end.
    """
    rows_of_list: tl.constexpr = P.tile * P.group
    base = batch * seq * P.heads + head * P.heads_of_key
    part = (BRANCH if P.branches == 7 else 0) * count + base
    for masked in tl.static_range(2):
        start = begin if masked else low
        stop = end - (high - low) if masked else high
        for step in range(start, stop, BM):
            place = step
            if masked:
                place += tl.where(step >= low, high - low, 0)
            places = place + tl.arange(0, BM)
            exist = places < end
            if BRANCH == 1:
                reader = tl.load(lists + places // rows_of_list, mask=exist, other=0)
                within = places % rows_of_list
                rows = reader // P.units * P.tile + within // P.group
                member = reader % P.units * P.group + within % P.group
                exist = exist & (rows < seq)
            else:
                rows = first + places // P.heads_of_key
                member = places % P.heads_of_key
            local = rows * P.heads + member
            numbers = base + local
            query = load_rows(q, numbers, exist, P)
            given = load_rows(grad, numbers, exist, P)
            # Scores are transposed, keys by queries, so that no weights need to be transposed.
            log = tl.load(logs + part + local, mask=exist, other=0.0)
            weights = tl.exp2(product(key, query) * P.scale2 - log[None, :])
            if masked:
                seen = keys[:, None] <= rows[None, :]
                if BRANCH == 2:
                    seen = seen & (keys[:, None] > rows[None, :] - P.window)
                weights = tl.where(seen, weights, 0.0)
            weights = weights * share_of(gates + base * 3, local, exist, BRANCH, P)[None, :]
            shared = weights.to(given.dtype)
            of_value = tl.dot(shared, given, of_value, input_precision="ieee", out_dtype=tl.float32)
            product_sum = tl.load(sums + part + local, mask=exist, other=0.0)
            slopes = weights * (product(value, given) - product_sum[None, :])
            slopes = slopes.to(query.dtype)
            of_key = tl.dot(slopes, query, of_key, input_precision="ieee", out_dtype=tl.float32)
    return of_key, of_value


@triton.jit
def mean_gradients(
    q, means_k, means_v, gates, grad, logs, sums, of_means_k, of_means_v, seq, means, count,
    P: tl.constexpr, PIECES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A piece of the queries' contribution to means' gradients, [pieces, batch, means, heads, width]."""
    piece, first = tl.program_id(0) % PIECES, tl.program_id(0) // PIECES * BN
    batch, head = (tl.program_id(1) // P.kv_heads).to(tl.int64), tl.program_id(1) % P.kv_heads
    mean = first + tl.arange(0, BN)
    inside = mean < means
    numbers = (batch * means + mean) * P.kv_heads + head
    key = load_rows(means_k, numbers, inside, P)
    value = load_rows(means_v, numbers, inside, P)
    start = first * P.stride + P.last  # the first query that sees one of these means
    number = tl.maximum(seq - start, 0) * P.heads_of_key
    tiles = (number + BM - 1) // BM
    begin = (tiles.to(tl.int64) * piece // PIECES * BM).to(tl.int32)
    end = tl.minimum((tiles.to(tl.int64) * (piece + 1) // PIECES * BM).to(tl.int32), number)
    edge: tl.constexpr = ((BN - 1) * P.stride * P.heads_of_key + BM - 1) // BM * BM
    of_key, of_value = add_rows(
        zero_rows(BN, P), zero_rows(BN, P), key, value, mean * P.stride + P.last,
        begin, tl.minimum(tl.maximum(begin, edge), end), end, end, start, q, batch, head, seq,
        q, grad, gates, logs, sums, count, 0, P, BM,
    )  # fmt: skip
    numbers += piece * (tl.num_programs(1) // P.kv_heads).to(tl.int64) * means * P.kv_heads
    store_rows(of_means_k, numbers, of_key * P.scale, inside, P)
    store_rows(of_means_v, numbers, of_value, inside, P)


@triton.jit
def add_readers(
    of_key, of_value, key, value, keys, block, begin, end, skipped, lists, batch, head, seq,
    q, grad, gates, logs, sums, count, P: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """`add_rows` for all rows that read the lists from `begin` to `end`, after `skipped` lists of the block.

    Only the first lists can have rows that do not see all keys: those of tiles that intersect the block.
    """
    rows_of_list: tl.constexpr = P.tile * P.group
    number = ((end - begin) * rows_of_list).to(tl.int32)
    partial = (block * P.block + P.block + P.tile - 2) // P.tile - block * P.block // P.tile
    partial = tl.maximum(partial * P.units - skipped, 0) * rows_of_list
    low = tl.minimum((partial + BM - 1) // BM * BM, number)
    return add_rows(
        of_key, of_value, key, value, keys, 0, low, number, number, 0, lists + begin, batch, head, seq,
        q, grad, gates, logs, sums, count, 1, P, BM,
    )  # fmt: skip


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
        skipped = ((piece - tl.load(further + edge) + 1) * PIECE).to(tl.int32)
        begin = tl.load(bounds + edge) + skipped
        of_key, of_value = add_readers(
            zero_rows(BN, P), zero_rows(BN, P), key, value, keys, block,
            begin, tl.minimum(begin + PIECE, tl.load(bounds + edge + 1)), skipped,
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

    The program visits the rows of the block's first `PIECE` readers, and adds the results of the further
    pieces. With `ADD` the contributions of all readers are already in `k_sums` and `v_sums`, scaled.
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
            of_key, of_value, key, value, keys, block,
            begin, tl.minimum(begin + PIECE, tl.load(bounds + edge + 1)), 0,
            lists + line * entries, batch, head, seq, q, grad, gates, logs, sums, count, P, BM,
        )  # fmt: skip
        for piece in range(tl.load(further + edge), tl.load(further + edge + 1)):
            numbers = (tl.program_id(1).to(tl.int64) * pieces + piece) * P.block + within
            of_key += load_rows(k_pieces, numbers, inside, P)
            of_value += load_rows(v_pieces, numbers, inside, P)
    if P.branches >> 2 & 1:
        first = block * P.block + tl.program_id(0) % parts * BN
        last = tl.minimum(first + BN, block * P.block + P.block) - 1
        number = (tl.minimum(last + P.window, seq) - first) * P.heads_of_key
        low = tl.minimum(((last - first) * P.heads_of_key + BM - 1) // BM * BM, number)
        high = tl.minimum(P.window * P.heads_of_key, number) // BM * BM
        of_key, of_value = add_rows(
            of_key, of_value, key, value, keys, 0, low, tl.maximum(low, high), number, first, q,
            batch, head, seq, q, grad, gates, logs, sums, count, 2, P, BM,
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
            numbers = (batch * means + mean) * P.kv_heads + head
            of_key += load_rows(of_means_k, numbers, holds, P) * weight[:, None]
            of_value += load_rows(of_means_v, numbers, holds, P) * weight[:, None]
    store_rows(k_grad, numbers_of_keys, of_key, inside, P)
    store_rows(v_grad, numbers_of_keys, of_value, inside, P)
