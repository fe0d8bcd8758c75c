"""Kernels of selection: they store only the highest scores seen so far, not a T × blocks array."""

import triton
import triton.language as tl

from .chunks import merge_chunks
from .keys import product
from .tiles import load_rows, tile_of
from .top import NOTHING, keep_highest, rank_key, store_picks


@triton.jit
def pick_by_mean_query(
    mean_q, means_k, picks, lists, arrived, tiles, means,
    P: tl.constexpr, GROUP: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Picks [batch, kv_heads, tiles, heads of a key head, selected] by tiles' mean queries, in f32.

    A tile may pick what begins before its end. A program has some tiles of `GROUP` heads, and one of the
    `CHUNKS` of means. Products are IEEE's, which tensor cores lack: they are a hundredth of the attention's.
    """
    padded: tl.constexpr = triton.next_power_of_2(GROUP)
    batch, unit, _, _, last, rows, numbers, exist = tile_of(tiles, BM // padded, GROUP, P, BM)
    end = tl.minimum(means, (last * P.tile + P.tile + P.block - 1) // P.block)
    begin = tl.program_id(2) * CHUNK
    if begin >= end:
        return
    query = load_rows(mean_q, numbers, exist, P)
    best = tl.full((BM, P.slots), NOTHING, tl.int64)
    base = batch.to(tl.int64) * means * P.kv_heads + unit * GROUP // P.heads_of_key
    for first in range(begin, tl.minimum(end, begin + CHUNK), BN):
        blocks = first + tl.arange(0, BN)
        key = load_rows(means_k, base + blocks.to(tl.int64) * P.kv_heads, blocks < end, P)
        scores = product(query, key) * P.scale
        begun = (blocks * P.block)[None, :] < ((rows + 1) * P.tile)[:, None]
        scores = tl.where(begun & (blocks < end)[None, :], scores, float("-inf"))
        best = keep_highest(best, rank_key(scores, blocks[None, :]))
    best, whole = merge_chunks(best, lists, arrived, (end + CHUNK - 1) // CHUNK, CHUNKS)
    if whole:
        head = numbers % P.heads
        line = (batch * P.kv_heads + head // P.heads_of_key).to(tl.int64) * tiles + rows
        store_picks(picks, line * P.heads_of_key + head % P.heads_of_key, best, exist, P)


@triton.jit
def pick_by_probability(
    q, means_k, logs, picks, seq, means,
    P: tl.constexpr, INIT: tl.constexpr, LOCAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Picks [batch, kv_heads, seq, selected] by the probabilities of the compressed branch.

    A block's score is that of the means that touch it, weighted by the number of strides they share with it,
    over the heads of a key head. The first `INIT` blocks and the last `LOCAL` come before all others.
    """
    batch, head = tl.program_id(1) // P.kv_heads, tl.program_id(1) % P.kv_heads
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM
    rows = first + tl.arange(0, BM)
    exist = rows < seq
    last = tl.minimum(first + BM, seq) - 1
    numbers = (batch.to(tl.int64) * seq + rows) * P.heads + head * P.heads_of_key
    base = batch.to(tl.int64) * means * P.kv_heads + head
    strides: tl.constexpr = P.block // P.stride
    before: tl.constexpr = P.length // P.stride - 1
    own = rows // P.block
    best = tl.full((BM, P.slots), NOTHING, tl.int64)
    for start in range(0, last // P.block + 1, BN):
        blocks = start + tl.arange(0, BN)
        mass = tl.zeros((BM, BN), tl.float32)
        for touching in range(strides + before):
            common = tl.minimum(touching + 1, strides + before - touching)
            common = tl.minimum(common, tl.minimum(strides, before + 1)).to(tl.float32)
            mean = blocks * strides + touching - before
            key = load_rows(means_k, base + mean.to(tl.int64) * P.kv_heads, (mean >= 0) & (mean < means), P)
            seen = (mean >= 0) & (mean < means)
            seen = seen[None, :] & ((mean * P.stride + P.last)[None, :] <= rows[:, None])
            for member in range(P.heads_of_key):
                query = load_rows(q, numbers + member, exist, P)
                log = tl.load(logs + numbers + member, mask=exist, other=0.0)
                scores = product(query, key) * P.scale2
                mass += common * tl.where(seen, tl.exp2(scores - log[:, None]), 0.0)
        forced = (blocks < INIT)[None, :] | (blocks[None, :] > own[:, None] - LOCAL)
        mass = tl.where(forced, float("inf"), mass)
        mass = tl.where(blocks[None, :] <= own[:, None], mass, float("-inf"))
        best = keep_highest(best, rank_key(mass, blocks[None, :]))
    line = (batch * P.kv_heads + head).to(tl.int64) * seq + rows
    store_picks(picks, line, best, exist, P)
