"""Forward kernel of `triton_flash`."""

import triton
import triton.language as tl


@triton.jit
def places_of(head, first, COUNT: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Pointers to `COUNT` rows of a head, from row `first` on.

    The row's number has 64 bits in this product, because long sequences exceed 2³¹ elements.
    """
    start = head + tl.cast(first, tl.int64) * STRIDE
    return start + (tl.arange(0, COUNT)[:, None] * STRIDE + tl.arange(0, WIDTH)[None, :])


@triton.jit
def read_rows(
    head, first, seq, COUNT: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """`COUNT` rows of a head from `first` on. Padded columns are zeros, and if MASKED, rows from `seq` on."""
    places = places_of(head, first, COUNT, STRIDE, WIDTH)
    column = tl.arange(0, WIDTH)[None, :]
    if MASKED:
        tile = tl.load(places, mask=(first + tl.arange(0, COUNT) < seq)[:, None] & (column < D), other=0.0)
    elif WIDTH > D:
        tile = tl.load(places, mask=column < D, other=0.0)
    else:
        tile = tl.load(places)
    return tile


@triton.jit
def write_rows(tile, head, first, seq, STRIDE: tl.constexpr, D: tl.constexpr):
    """Write a tile to the rows of a head from `first` on, as far as they exist."""
    count: tl.constexpr = tile.shape[0]
    width: tl.constexpr = tile.shape[1]
    exists = (first + tl.arange(0, count) < seq)[:, None] & (tl.arange(0, width) < D)[None, :]
    tl.store(places_of(head, first, count, STRIDE, width), tile.to(head.dtype.element_ty), mask=exists)


@triton.jit
def attend_blocks(
    sums, most, total, query, rows, k_head, v_head, begin, end, seq,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, SCALE: tl.constexpr, STRIDE: tl.constexpr,
    D: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """The online softmax over the keys `begin` … `end` of a head."""
    for first in range(begin, end, BN):
        keys = first + tl.arange(0, BN)
        key = read_rows(k_head, first, seq, BN, STRIDE, D, BD, MASKED)
        products = tl.dot(query, tl.trans(key), input_precision="ieee", out_dtype=sums.dtype)
        if MASKED:
            visible = (keys < seq)[None, :]
            if CAUSAL:
                visible = visible & (keys[None, :] <= rows[:, None])
            products = tl.where(visible, products, float("-inf"))
        # The scale is part of the exponent: one multiply-add per product.
        new = tl.maximum(most, tl.max(products, 1) * SCALE)
        weights = tl.exp2(products * SCALE - new[:, None])
        fade = tl.exp2(most - new)
        total = total * fade + tl.sum(weights, 1)
        value = read_rows(v_head, first, seq, BN, STRIDE, D, BD, MASKED)
        sums = tl.dot(
            weights.to(value.dtype), value, sums * fade[:, None], input_precision="ieee", out_dtype=sums.dtype
        )
        most = new
    return sums, most, total


@triton.jit
def forward(
    q, k, v, out, logs, seq,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A tile of queries of one head; `logs` [b, heads, seq] gets the base-2 logarithm of each row's sum."""
    # The last tiles have the most keys, so they start first.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM if CAUSAL else tl.program_id(0) * BM
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    begin = batch.to(tl.int64) * seq
    q_begin = (begin * HEADS + head) * D
    k_begin = (begin * KV_HEADS + head // (HEADS // KV_HEADS)) * D
    query = read_rows(q + q_begin, first, seq, BM, HEADS * D, D, BD, True)
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
    sums, most, total = attend_blocks(
        sums, most, total, query, rows, k + k_begin, v + k_begin, whole, end, seq,
        CAUSAL, True, SCALE, KV_HEADS * D, D, BN, BD,
    )  # fmt: skip
    write_rows(sums / total[:, None], out + q_begin, first, seq, HEADS * D, D)
    line = logs + tl.program_id(1).to(tl.int64) * seq
    tl.store(line + rows, most + tl.log2(total), mask=rows < seq)
