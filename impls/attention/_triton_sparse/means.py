"""Kernel of means: of blocks of rows that may overlap, summed in f32."""

import triton
import triton.language as tl

ROWS = tl.constexpr(32)


@triton.jit
def average(
    x, found, seq, means, HEADS: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    LENGTH: tl.constexpr, STRIDE: tl.constexpr,
):  # fmt: skip
    """A mean of one head's rows; the last mean is over the rows that there are."""
    mean, head = tl.program_id(0), tl.program_id(1) % HEADS
    batch = (tl.program_id(1) // HEADS).to(tl.int64)
    first = mean * STRIDE
    end = tl.minimum(first + LENGTH, seq)
    column = tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for start in range(first, end, ROWS):
        rows = start + tl.arange(0, ROWS)
        place = ((batch * seq + rows) * HEADS + head)[:, None] * WIDTH + column[None, :]
        inside = (rows < end)[:, None] & (column < WIDTH)[None, :]
        total += tl.sum(tl.load(x + place, mask=inside, other=0.0).to(tl.float32), 0)
    place = ((batch * means + mean) * HEADS + head) * WIDTH + column
    tl.store(found + place, (total / (end - first)).to(found.dtype.element_ty), mask=column < WIDTH)
