"""Three backward kernels of `triton_flash`: one program computes each sum, so two runs give the same bits."""

import triton
import triton.language as tl

from ._triton_flash import rows_of


@triton.jit
def row_sums(out, grad, sums, seq, HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr):
    """Σ out · grad of every row: what its softmax subtracts from the cotangents of its weights."""
    first = tl.program_id(0) * BM
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    begin = (batch.to(tl.int64) * seq * HEADS + head) * D
    kind: tl.constexpr = sums.dtype.element_ty
    place, exists = rows_of(out + begin, first, BM, seq, HEADS * D, D, BD)
    answer = tl.load(place, mask=exists, other=0.0).to(kind)
    place, exists = rows_of(grad + begin, first, BM, seq, HEADS * D, D, BD)
    given = tl.load(place, mask=exists, other=0.0).to(kind)
    rows = first + tl.arange(0, BM)
    tl.store(sums + tl.program_id(1).to(tl.int64) * seq + rows, tl.sum(answer * given, 1), mask=rows < seq)


@triton.jit
def key_gradients(
    q, k, v, grad, logs, sums, k_grad, v_grad, seq,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    SCALE: tl.constexpr, PLAIN_SCALE: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A tile of keys and values: over all heads that read them, and all queries from the tile on."""
    first = tl.program_id(0) * BN
    batch, head = tl.program_id(1) // KV_HEADS, tl.program_id(1) % KV_HEADS
    begin = batch.to(tl.int64) * seq
    k_begin = (begin * KV_HEADS + head) * D
    kind: tl.constexpr = logs.dtype.element_ty
    place, exists = rows_of(k + k_begin, first, BN, seq, KV_HEADS * D, D, BD)
    key = tl.load(place, mask=exists, other=0.0)
    place, exists = rows_of(v + k_begin, first, BN, seq, KV_HEADS * D, D, BD)
    value = tl.load(place, mask=exists, other=0.0)
    keys = first + tl.arange(0, BN)
    of_key = tl.zeros((BN, BD), kind)
    of_value = tl.zeros((BN, BD), kind)
    group: tl.constexpr = HEADS // KV_HEADS
    start = first // BM * BM if CAUSAL else 0
    local, column = tl.arange(0, BM), tl.arange(0, BD)
    offsets = local[:, None] * (HEADS * D) + column[None, :]
    for member in range(group):
        reader = head * group + member
        line = (batch * HEADS + reader).to(tl.int64) * seq
        at = (begin * HEADS + reader) * D + tl.cast(start, tl.int64) * (HEADS * D)
        for row in range(start, seq, BM):
            rows = row + local
            inside = (rows < seq)[:, None] & (column < D)[None, :]
            query = tl.load(q + at + offsets, mask=inside, other=0.0)
            given = tl.load(grad + at + offsets, mask=inside, other=0.0)
            logs_of_rows = tl.load(logs + line + rows, mask=rows < seq, other=0.0)
            sums_of_rows = tl.load(sums + line + rows, mask=rows < seq, other=0.0)
            # Scores are transposed, keys by queries, so that no weights need to be transposed.
            scores = tl.dot(key, tl.trans(query), input_precision="ieee", out_dtype=kind) * SCALE
            visible = (rows < seq)[None, :]
            if CAUSAL:
                visible = visible & (keys[:, None] <= rows[None, :])
            weights = tl.where(visible, tl.exp2(scores - logs_of_rows[None, :]), 0.0)
            of_value = tl.dot(
                weights.to(given.dtype), given, of_value, input_precision="ieee", out_dtype=kind
            )
            slopes = tl.dot(value, tl.trans(given), input_precision="ieee", out_dtype=kind)
            slopes = weights * (slopes - sums_of_rows[None, :])
            of_key = tl.dot(slopes.to(query.dtype), query, of_key, input_precision="ieee", out_dtype=kind)
            at += BM * HEADS * D
    place, exists = rows_of(k_grad + k_begin, first, BN, seq, KV_HEADS * D, D, BD)
    tl.store(place, (of_key * PLAIN_SCALE).to(k_grad.dtype.element_ty), mask=exists)
    place, exists = rows_of(v_grad + k_begin, first, BN, seq, KV_HEADS * D, D, BD)
    tl.store(place, of_value.to(v_grad.dtype.element_ty), mask=exists)


@triton.jit
def query_gradients(
    q, k, v, grad, logs, sums, q_grad, seq,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    SCALE: tl.constexpr, PLAIN_SCALE: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A tile of queries of one head, over the keys that it sees."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM if CAUSAL else tl.program_id(0) * BM
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    begin = batch.to(tl.int64) * seq
    q_begin = (begin * HEADS + head) * D
    at = (begin * KV_HEADS + head // (HEADS // KV_HEADS)) * D
    kind: tl.constexpr = logs.dtype.element_ty
    place, exists = rows_of(q + q_begin, first, BM, seq, HEADS * D, D, BD)
    query = tl.load(place, mask=exists, other=0.0)
    place, exists = rows_of(grad + q_begin, first, BM, seq, HEADS * D, D, BD)
    given = tl.load(place, mask=exists, other=0.0)
    rows = first + tl.arange(0, BM)
    line = tl.program_id(1).to(tl.int64) * seq
    logs_of_rows = tl.load(logs + line + rows, mask=rows < seq, other=0.0)
    sums_of_rows = tl.load(sums + line + rows, mask=rows < seq, other=0.0)
    of_query = tl.zeros((BM, BD), kind)
    local, column = tl.arange(0, BN), tl.arange(0, BD)
    offsets = local[:, None] * (KV_HEADS * D) + column[None, :]
    for key_row in range(0, tl.minimum(first + BM, seq) if CAUSAL else seq, BN):
        keys = key_row + local
        inside = (keys < seq)[:, None] & (column < D)[None, :]
        key = tl.load(k + at + offsets, mask=inside, other=0.0)
        value = tl.load(v + at + offsets, mask=inside, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee", out_dtype=kind) * SCALE
        visible = (keys < seq)[None, :]
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None])
        weights = tl.where(visible, tl.exp2(scores - logs_of_rows[:, None]), 0.0)
        slopes = tl.dot(given, tl.trans(value), input_precision="ieee", out_dtype=kind)
        slopes = weights * (slopes - sums_of_rows[:, None])
        of_query = tl.dot(slopes.to(key.dtype), key, of_query, input_precision="ieee", out_dtype=kind)
        at += BN * KV_HEADS * D
    place, exists = rows_of(q_grad + q_begin, first, BM, seq, HEADS * D, D, BD)
    tl.store(place, (of_query * PLAIN_SCALE).to(q_grad.dtype.element_ty), mask=exists)
