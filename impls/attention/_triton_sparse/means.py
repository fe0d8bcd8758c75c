"""Means of blocks of rows that may overlap, summed in f32."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .plan import power_of_two

ELEMENTS = 4096  # loaded by a program at a time
NARROWEST = 16  # columns of a program: 32 bytes in half precision, the smallest access to memory
PROGRAMS = 2048  # with more the columns are not divided


@triton.jit
def average(
    x, found, seq, means, HEADS: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    ROWS: tl.constexpr, LENGTH: tl.constexpr, STRIDE: tl.constexpr,
):  # fmt: skip
    """Some columns of a mean of one head's rows; the last mean is over the rows that exist."""
    mean, head = tl.program_id(0), tl.program_id(1) % HEADS
    batch = (tl.program_id(1) // HEADS).to(tl.int64)
    first = mean * STRIDE
    end = tl.minimum(first + LENGTH, seq)
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for start in range(first, end, ROWS):
        rows = start + tl.arange(0, ROWS)
        place = ((batch * seq + rows) * HEADS + head)[:, None] * WIDTH + column[None, :]
        inside = (rows < end)[:, None] & (column < WIDTH)[None, :]
        total += tl.sum(tl.load(x + place, mask=inside, other=0.0).to(tl.float32), 0)
    place = ((batch * means + mean) * HEADS + head) * WIDTH + column
    tl.store(found + place, (total / (end - first)).to(found.dtype.element_ty), mask=column < WIDTH)


def average_blocks(x: torch.Tensor, length: int, stride: int, means: int, dtype: torch.dtype) -> torch.Tensor:
    """Means of `length` rows every `stride`, [b, means, heads, width].

    If there are few means, programs divide the columns, not the rows, so each column still has one sum.
    """
    batch, seq, heads, width = x.shape
    found = torch.empty((batch, means, heads, width), dtype=dtype, device=x.device)
    columns = power_of_two(width, NARROWEST)
    while columns > NARROWEST and means * batch * heads * -(-width // columns) < PROGRAMS:
        columns //= 2
    rows = min(power_of_two(length), ELEMENTS // columns)
    if means:
        average[(means, batch * heads, -(-width // columns))](
            x, found, seq, means, heads, width, columns, rows, length, stride,
            num_warps=16 if rows * columns == ELEMENTS else 8,
        )  # fmt: skip
    return found
