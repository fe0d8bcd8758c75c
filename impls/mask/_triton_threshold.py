"""Kernel of `triton_threshold`."""

import triton
import triton.language as tl


@triton.jit
def compare_and_fill(scores, values, out, seq, topk, CLOSED: tl.constexpr, BLOCK: tl.constexpr):
    """In a block of one row, open the columns whose score reaches the row's last selected value."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < seq
    cutoff = tl.load(values + row * topk + topk - 1)
    score = tl.load(scores + row * seq + column, mask=inside, other=0.0)
    # A constant, because an argument in double precision would arrive in single precision.
    wide: tl.constexpr = tl.float64 if out.dtype.element_ty == tl.float64 else tl.float32
    shut = tl.full((BLOCK,), CLOSED, wide)
    mask = tl.where(score >= cutoff, tl.zeros((BLOCK,), wide), shut).to(out.dtype.element_ty)
    tl.store(out + row * seq + column, mask, mask=inside)
