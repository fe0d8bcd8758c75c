"""Forward kernel of `triton_flash`."""

import triton
import triton.language as tl


@triton.jit
def rows_of(begin, first, count, seq, STRIDE: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr):
    """Pointers to the rows `first` … of a head whose first row is at `begin`, and which of them exist.

    The row's number is 64 bits wide in this product, because long sequences exceed 2^31 elements.
    """
    local = tl.arange(0, count)
    column = tl.arange(0, WIDTH)
    start = begin + first.to(tl.int64) * STRIDE
    exists = (first + local < seq)[:, None] & (column < D)[None, :]
    return start + local[:, None] * STRIDE + column[None, :], exists


@triton.jit
def read_tile(
    start, rows, seq, STRIDE: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr
):
    """The rows `rows` of a head, the first of them at `start`; zeros where a row or column does not exist."""
    column = tl.arange(0, WIDTH)
    place = start + tl.arange(0, rows.shape[0])[:, None] * STRIDE + column[None, :]
    if MASKED:
        tile = tl.load(place, mask=(rows < seq)[:, None] & (column < D)[None, :], other=0.0)
    elif WIDTH > D:
        tile = tl.load(place, mask=(column < D)[None, :], other=0.0)
    else:  # without predicates
        tile = tl.load(place)
    return tile


@triton.jit
def attend_blocks(
    sums, most, total, query, rows, k_at, v_at, begin, end, seq,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, SCALE: tl.constexpr, STRIDE: tl.constexpr,
    D: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """The online softmax over the keys `begin` … `end`; `k_at`, `v_at` point to the first of them."""
    for first in range(begin, end, BN):
        keys = first + tl.arange(0, BN)
        key = read_tile(k_at, keys, seq, STRIDE, D, BD, MASKED)
        products = tl.dot(query, tl.trans(key), input_precision="ieee", out_dtype=sums.dtype)
        if MASKED:
            visible = (keys < seq)[None, :]
            if CAUSAL:
                visible = visible & (keys[None, :] <= rows[:, None])
            products = tl.where(visible, products, float("-inf"))
        # The scale is part of the exponent: one multiply-add for each product.
        new = tl.maximum(most, tl.max(products, 1) * SCALE)
        weights = tl.exp2(products * SCALE - new[:, None])
        fade = tl.exp2(most - new)
        total = total * fade + tl.sum(weights, 1)
        value = read_tile(v_at, keys, seq, STRIDE, D, BD, MASKED)
        sums = tl.dot(
            weights.to(value.dtype), value, sums * fade[:, None], input_precision="ieee", out_dtype=sums.dtype
        )
        most = new
        k_at += BN * STRIDE
        v_at += BN * STRIDE
    return sums, most, total


@triton.jit
def forward(
    q, k, v, out, logs, seq,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A tile of queries of one head; `logs` [b, heads, seq] get the base-2 logarithm of each row's sum."""
    # The last tiles have the most keys, so they start first.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM if CAUSAL else tl.program_id(0) * BM
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    begin = batch.to(tl.int64) * seq
    q_begin = (begin * HEADS + head) * D
    k_begin = (begin * KV_HEADS + head // (HEADS // KV_HEADS)) * D
    place, exists = rows_of(q + q_begin, first, BM, seq, HEADS * D, D, BD)
    query = tl.load(place, mask=exists, other=0.0)
    rows = first + tl.arange(0, BM)
    kind: tl.constexpr = logs.dtype.element_ty
    sums = tl.zeros((BM, BD), kind)
    most = tl.full((BM,), float("-inf"), kind)
    total = tl.zeros((BM,), kind)
    # BN divides BM, so every block of keys before the tile's own rows is fully visible.
    whole = first if CAUSAL else seq // BN * BN
    end = tl.minimum(first + BM, seq) if CAUSAL else seq
    sums, most, total = attend_blocks(
        sums, most, total, query, rows, k + k_begin, v + k_begin, 0, whole, seq,
        CAUSAL, False, SCALE, KV_HEADS * D, D, BN, BD,
    )  # fmt: skip
    rest = k_begin + tl.cast(whole, tl.int64) * (KV_HEADS * D)
    sums, most, total = attend_blocks(
        sums, most, total, query, rows, k + rest, v + rest, whole, end, seq,
        CAUSAL, True, SCALE, KV_HEADS * D, D, BN, BD,
    )  # fmt: skip
    place, exists = rows_of(out + q_begin, first, BM, seq, HEADS * D, D, BD)
    tl.store(place, (sums / total[:, None]).to(out.dtype.element_ty), mask=exists)
    line = logs + tl.program_id(1).to(tl.int64) * seq
    tl.store(line + rows, most + tl.log2(total), mask=rows < seq)
