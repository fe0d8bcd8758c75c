"""Kernel of DeepSeek's lightning indexer with its selection: a query's scores are not stored."""

import triton
import triton.language as tl

from .keys import product
from .top import NOTHING, indices_of, keep_highest, rank_key


@triton.jit
def pick_tokens(
    index_q, index_k, index_w, picks, seq,
    HEADS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    SCALE: tl.constexpr, TOPK: tl.constexpr, SLOTS: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The `TOPK` tokens of highest score of one query, ascending, followed by −1; `SLOTS` entries.

    Tokens are the rows of a product and heads its columns, because Hopper's matrix units need 64 rows. A
    round computes one score per slot, `BN` at a time. They are sorted only if one of them is higher than the
    lowest stored one.
    """
    row = tl.num_programs(0) - 1 - tl.program_id(0)  # the last queries have the most keys and start first
    begin = tl.program_id(1).to(tl.int64) * seq
    member, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    inside = (column < WIDTH)[None, :]
    line = (begin + row) * HEADS + member
    place = index_q + line[:, None] * WIDTH + column[None, :]
    query = tl.load(place, mask=(member < HEADS)[:, None] & inside, other=0.0)
    weight = tl.load(index_w + line, mask=member < HEADS, other=0.0).to(tl.float32) * SCALE
    best = tl.full((1, SLOTS), NOTHING, tl.int64)
    chunks: tl.constexpr = SLOTS // BN
    chunk = tl.arange(0, chunks)[:, None]
    for first in range(0, row + 1, SLOTS):
        found = tl.full((chunks, BN), NOTHING, tl.int64)
        for part in range(tl.minimum(chunks, (row - first) // BN + 1)):
            tokens = first + part * BN + tl.arange(0, BN)
            at = index_k + (begin + tokens)[:, None] * WIDTH + column[None, :]
            key = tl.load(at, mask=(tokens <= row)[:, None] & inside, other=0.0)
            liked = tl.maximum(product(key, query), 0.0)
            scores = tl.where(tokens <= row, tl.sum(liked * weight[None, :], 1), float("-inf"))
            found = tl.where(chunk == part, rank_key(scores, tokens)[None, :], found)
        if tl.max(found) > tl.min(best):
            best = keep_highest(best, found.reshape(1, SLOTS))
    slot = tl.arange(0, SLOTS)[None, :]
    line = picks + (begin + row) * TOPK
    tl.store(line + slot, indices_of(best, TOPK), mask=slot < TOPK)
