"""Kernel of `triton_prefill`."""

import triton
import triton.language as tl


@triton.jit
def attend(
    content, position, expanded, kpe, out, seq,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, HEADS: tl.constexpr,
    NOPE: tl.constexpr, ROPE: tl.constexpr, V: tl.constexpr,
    WIDE_NOPE: tl.constexpr, WIDE_ROPE: tl.constexpr, WIDE_V: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A tile of one head's queries over its keys, by the online softmax.

    A head's keys and values are adjacent in `expanded`, and all heads share `kpe`. The content of a query is
    part of a row of NOPE + ROPE. A scale that is not a constant would reach the kernel as f32.
    """
    # The last tiles have the most keys, so they start first.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM
    batch, head = (tl.program_id(1) // HEADS).to(tl.int64), tl.program_id(1) % HEADS
    nope, rope, value = tl.arange(0, WIDE_NOPE), tl.arange(0, WIDE_ROPE), tl.arange(0, WIDE_V)
    wide: tl.constexpr = tl.float64 if out.dtype.element_ty == tl.float64 else tl.float32
    scale = tl.full((), SCALE, wide)

    rows = first + tl.arange(0, BM)
    token = ((batch * seq + rows) * HEADS + head)[:, None]
    there = (rows < seq)[:, None]
    at_nope, at_rope, at_v = (nope < NOPE)[None, :], (rope < ROPE)[None, :], (value < V)[None, :]
    q = tl.load(content + token * (NOPE + ROPE) + nope[None, :], mask=there & at_nope, other=0.0)
    turned = tl.load(position + token * ROPE + rope[None, :], mask=there & at_rope, other=0.0)

    sums = tl.zeros((BM, WIDE_V), wide)
    most = tl.full((BM,), float("-inf"), wide)
    total = tl.zeros((BM,), wide)
    for begin in range(0, tl.minimum(first + BM, seq) if CAUSAL else seq, BN):
        keys = begin + tl.arange(0, BN)
        here = (keys < seq)[:, None]
        key = expanded + ((batch * seq + keys) * HEADS + head)[:, None] * (NOPE + V)
        k = tl.load(key + nope[None, :], mask=here & at_nope, other=0.0)
        p = tl.load(
            kpe + (batch * seq + keys)[:, None] * ROPE + rope[None, :], mask=here & at_rope, other=0.0
        )
        scores = tl.dot(q, tl.trans(k), input_precision="ieee", out_dtype=wide)
        scores = tl.dot(turned, tl.trans(p), scores, input_precision="ieee", out_dtype=wide) * scale
        visible = (keys < seq)[None, :]
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None])
        scores = tl.where(visible, scores, float("-inf"))
        new = tl.maximum(most, tl.max(scores, 1))  # the first block has a key that every row sees
        weights = tl.exp(scores - new[:, None])
        fade = tl.exp(most - new)
        total = total * fade + tl.sum(weights, 1)
        v = tl.load(key + NOPE + value[None, :], mask=here & at_v, other=0.0)
        sums = tl.dot(weights.to(v.dtype), v, sums * fade[:, None], input_precision="ieee", out_dtype=wide)
        most = new
    tl.store(
        out + token * V + value[None, :], (sums / total[:, None]).to(out.dtype.element_ty), mask=there & at_v
    )
