"""Backward kernels of `triton_flash`. One program computes each sum, so two runs give the same bits."""

import triton
import triton.language as tl

from ._triton_flash import read_rows, write_rows


@triton.jit
def row_sums(out, grad, sums, seq, HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr):
    """Σ out · grad of every row, which the softmax subtracts from the cotangents of its weights."""
    first = tl.program_id(0) * BM
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    begin = (batch.to(tl.int64) * seq * HEADS + head) * D
    kind: tl.constexpr = sums.dtype.element_ty
    answer = read_rows(out + begin, first, seq, BM, HEADS * D, D, BD, True).to(kind)
    given = read_rows(grad + begin, first, seq, BM, HEADS * D, D, BD, True).to(kind)
    rows = first + tl.arange(0, BM)
    tl.store(sums + tl.program_id(1).to(tl.int64) * seq + rows, tl.sum(answer * given, 1), mask=rows < seq)


@triton.jit
def add_queries(
    of_key, of_value, key, value, keys, q_heads, grad_heads, logs, sums, begin, count, last, seq,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, SCALE: tl.constexpr, GROUP: tl.constexpr,
    STRIDE: tl.constexpr, D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Add the contributions of `count` blocks of queries from `begin` on, and GROUP heads, to a tile of keys.

    If MASKED, the blocks from `last` to the end of the sequence are also added.
    """
    kind: tl.constexpr = of_key.dtype
    # One loop over blocks and heads, so that the next head's rows are loaded during a head's products.
    blocks = count + tl.cdiv(tl.maximum(seq - last, 0), BM) if MASKED else count
    for turn in range(blocks * GROUP):
        block, head = turn // GROUP, turn % GROUP
        first = begin + block * BM
        if MASKED:
            first = tl.where(block < count, first, last + (block - count) * BM)
        line = tl.cast(head, tl.int64) * seq
        rows = first + tl.arange(0, BM)
        query = read_rows(q_heads + head * D, first, seq, BM, STRIDE, D, BD, MASKED)
        if MASKED:  # rows that do not exist are zeros, and add nothing
            logs_of_rows = tl.load(logs + line + rows, mask=rows < seq, other=0.0)
        else:
            logs_of_rows = tl.load(logs + line + rows)
        # Products are transposed, keys by queries, so that no weights need to be transposed.
        products = tl.dot(key, tl.trans(query), input_precision="ieee", out_dtype=kind)
        weights = tl.exp2(products * SCALE - logs_of_rows[None, :])
        if MASKED and CAUSAL:
            weights = tl.where(keys[:, None] <= rows[None, :], weights, 0.0)
        given = read_rows(grad_heads + head * D, first, seq, BM, STRIDE, D, BD, MASKED)
        of_value = tl.dot(weights.to(given.dtype), given, of_value, input_precision="ieee", out_dtype=kind)
        slopes = tl.dot(value, tl.trans(given), input_precision="ieee", out_dtype=kind)
        if MASKED:
            sums_of_rows = tl.load(sums + line + rows, mask=rows < seq, other=0.0)
        else:
            sums_of_rows = tl.load(sums + line + rows)
        slopes = weights * (slopes - sums_of_rows[None, :])
        of_key = tl.dot(slopes.to(query.dtype), query, of_key, input_precision="ieee", out_dtype=kind)
    return of_key, of_value


@triton.jit
def key_gradients(
    q, k, v, grad, logs, sums, k_grad, v_grad, seq,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    SCALE: tl.constexpr, PLAIN_SCALE: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of keys and values, over all heads that read them and all queries that see them."""
    first = tl.program_id(0) * BN
    batch, head = tl.program_id(1) // KV_HEADS, tl.program_id(1) % KV_HEADS
    begin = batch.to(tl.int64) * seq
    k_begin = (begin * KV_HEADS + head) * D
    kind: tl.constexpr = logs.dtype.element_ty
    key = read_rows(k + k_begin, first, seq, BN, KV_HEADS * D, D, BD, True)
    value = read_rows(v + k_begin, first, seq, BN, KV_HEADS * D, D, BD, True)
    keys = first + tl.arange(0, BN)
    of_key = tl.zeros((BN, BD), kind)
    of_value = tl.zeros((BN, BD), kind)
    group: tl.constexpr = HEADS // KV_HEADS
    # Queries of full blocks see all keys of the tile. The others need masks, and have smaller blocks.
    part: tl.constexpr = max(BM // 2, 16)
    start = first // BM * BM if CAUSAL else 0
    whole = tl.cdiv(first + BN, BM) * BM if CAUSAL else 0
    full = tl.maximum(seq // BM - whole // BM, 0)
    at = (begin * HEADS + head * group) * D
    line = (batch * HEADS + head * group).to(tl.int64) * seq
    of_key, of_value = add_queries(
        of_key, of_value, key, value, keys, q + at, grad + at, logs + line, sums + line,
        start, tl.cdiv(tl.minimum(whole, seq) - start, part), whole + full * BM, seq, CAUSAL, True, SCALE,
        group, HEADS * D, D, BD, part,
    )  # fmt: skip
    of_key, of_value = add_queries(
        of_key, of_value, key, value, keys, q + at, grad + at, logs + line, sums + line,
        whole, full, seq, seq, CAUSAL, False, SCALE, group, HEADS * D, D, BD, BM,
    )  # fmt: skip
    write_rows(of_key * PLAIN_SCALE, k_grad + k_begin, first, seq, KV_HEADS * D, D)
    write_rows(of_value, v_grad + k_begin, first, seq, KV_HEADS * D, D)


@triton.jit
def add_keys(
    of_query, query, given, rows, logs_of_rows, sums_of_rows, k_head, v_head, begin, end, seq,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, SCALE: tl.constexpr, STRIDE: tl.constexpr,
    D: tl.constexpr, BD: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Add the contributions of the keys `begin` … `end` of one head to a tile of queries."""
    kind: tl.constexpr = of_query.dtype
    for first in range(begin, end, BN):
        keys = first + tl.arange(0, BN)
        key = read_rows(k_head, first, seq, BN, STRIDE, D, BD, MASKED)
        value = read_rows(v_head, first, seq, BN, STRIDE, D, BD, MASKED)
        products = tl.dot(query, tl.trans(key), input_precision="ieee", out_dtype=kind)
        weights = tl.exp2(products * SCALE - logs_of_rows[:, None])
        if MASKED:
            visible = (keys < seq)[None, :]
            if CAUSAL:
                visible = visible & (keys[None, :] <= rows[:, None])
            weights = tl.where(visible, weights, 0.0)
        slopes = tl.dot(given, tl.trans(value), input_precision="ieee", out_dtype=kind)
        slopes = weights * (slopes - sums_of_rows[:, None])
        of_query = tl.dot(slopes.to(key.dtype), key, of_query, input_precision="ieee", out_dtype=kind)
    return of_query


@triton.jit
def query_gradients(
    q, k, v, grad, logs, sums, q_grad, seq,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    SCALE: tl.constexpr, PLAIN_SCALE: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The gradient of a tile of queries of one head, over the keys that it sees."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM if CAUSAL else tl.program_id(0) * BM
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    begin = batch.to(tl.int64) * seq
    q_begin = (begin * HEADS + head) * D
    at = (begin * KV_HEADS + head // (HEADS // KV_HEADS)) * D
    kind: tl.constexpr = logs.dtype.element_ty
    query = read_rows(q + q_begin, first, seq, BM, HEADS * D, D, BD, True)
    given = read_rows(grad + q_begin, first, seq, BM, HEADS * D, D, BD, True)
    rows = first + tl.arange(0, BM)
    line = tl.program_id(1).to(tl.int64) * seq
    logs_of_rows = tl.load(logs + line + rows, mask=rows < seq, other=0.0)
    sums_of_rows = tl.load(sums + line + rows, mask=rows < seq, other=0.0)
    of_query = tl.zeros((BM, BD), kind)
    # BN divides BM, so every block of keys before the tile's own rows is fully visible.
    whole = first if CAUSAL else seq // BN * BN
    end = tl.minimum(first + BM, seq) if CAUSAL else seq
    of_query = add_keys(
        of_query, query, given, rows, logs_of_rows, sums_of_rows, k + at, v + at, 0, whole, seq,
        CAUSAL, False, SCALE, KV_HEADS * D, D, BD, BN,
    )  # fmt: skip
    of_query = add_keys(
        of_query, query, given, rows, logs_of_rows, sums_of_rows, k + at, v + at, whole, end, seq,
        CAUSAL, True, SCALE, KV_HEADS * D, D, BD, BN,
    )  # fmt: skip
    write_rows(of_query * PLAIN_SCALE, q_grad + q_begin, first, seq, HEADS * D, D)
