"""Kernel of `triton_scatter`."""

import triton
import triton.language as tl


@triton.jit
def fill_and_scatter(indices, out, seq, topk, CLOSED: tl.constexpr, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    """Close a block of one row's columns, then open those with an index in it."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    columns = first + tl.arange(0, BLOCK)
    line = out + row * seq
    # A constant, because an argument in double precision would arrive in single precision.
    wide: tl.constexpr = tl.float64 if out.dtype.element_ty == tl.float64 else tl.float32
    shut = tl.full((BLOCK,), CLOSED, wide).to(out.dtype.element_ty)
    tl.store(line + columns, shut, mask=columns < seq)
    tl.debug_barrier()  # the threads that open a column are not those that closed it
    last = tl.minimum(first + BLOCK, seq)
    for begin in range(0, topk, CHUNK):
        number = begin + tl.arange(0, CHUNK)
        column = tl.load(indices + row * topk + number, mask=number < topk, other=-1)
        here = (column >= first) & (column < last)
        tl.store(line + column, tl.zeros((CHUNK,), out.dtype.element_ty), mask=here)
