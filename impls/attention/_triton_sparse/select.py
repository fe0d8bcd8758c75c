"""Kernels of selection. They store only the highest scores of each chunk, not a T × blocks array."""

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

    A tile may pick blocks that begin before its end. A program has some tiles of `GROUP` heads, and one of
    the `CHUNKS` of means. Products are IEEE's, without tensor cores: they are a hundredth of the attention's.
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
    stop = tl.minimum(end, begin + CHUNK)
    for first in range(begin, stop, BN):
        blocks = first + tl.arange(0, BN)
        key = load_rows(means_k, base + blocks.to(tl.int64) * P.kv_heads, blocks < stop, P)
        scores = product(query, key) * P.scale
        begun = (blocks * P.block)[None, :] < ((rows + 1) * P.tile)[:, None]
        scores = tl.where(begun & (blocks < stop)[None, :], scores, float("-inf"))
        best = keep_highest(best, rank_key(scores, blocks[None, :]))
    best, whole = merge_chunks(best, lists, arrived, (end + CHUNK - 1) // CHUNK, CHUNKS)
    if whole:
        head = numbers % P.heads
        line = (batch * P.kv_heads + head // P.heads_of_key).to(tl.int64) * tiles + rows
        store_picks(picks, line * P.heads_of_key + head % P.heads_of_key, best, exist, P)


@triton.jit
def pick_by_probability(
    q, means_k, logs, picks, lists, arrived, seq, means,
    P: tl.constexpr, INIT: tl.constexpr, LOCAL: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Picks [batch, kv_heads, seq, selected] by the probabilities of the compressed branch.

    A block's score is the sum over the means that intersect it and over the heads of a key head, weighted by
    the number of strides they share. The first `INIT` blocks and the last `LOCAL` come before all others. A
    program has some queries of all these heads, and one of the `CHUNKS` of blocks.
    """
    padded: tl.constexpr = triton.next_power_of_2(P.heads_of_key)
    queries: tl.constexpr = BM // padded
    batch, head, _, first, last, rows, numbers, exist = tile_of(seq, queries, P.heads_of_key, P, BM)
    end = last // P.block + 1
    begin = tl.program_id(2) * CHUNK
    if begin >= end:
        return
    strides: tl.constexpr = P.block // P.stride
    before: tl.constexpr = P.length // P.stride - 1
    halo: tl.constexpr = 1 if before > 0 else 0  # blocks after its own that a mean intersects
    query = load_rows(q, numbers, exist, P)
    log = tl.load(logs + numbers, mask=exist, other=float("inf"))
    base = batch.to(tl.int64) * means * P.kv_heads + head
    own = (first + tl.arange(0, queries)) // P.block
    place = tl.arange(0, BN)
    best = tl.full((queries, P.slots), NOTHING, tl.int64)
    for start in range(begin - halo, tl.minimum(end, begin + CHUNK) - halo, BN - halo):
        blocks = start + place
        mass = tl.zeros((BM, BN), tl.float32)
        next_mass = tl.zeros((BM, BN), tl.float32)
        for at in range(strides):  # if unrolled, each stride would have its own buffers in shared memory
            mean = blocks * strides + at
            real = (mean >= 0) & (mean < means)
            key = load_rows(means_k, base + mean.to(tl.int64) * P.kv_heads, real, P)
            seen = real[None, :] & ((mean * P.stride + P.last)[None, :] <= rows[:, None])
            weight = tl.where(seen, tl.exp2(product(query, key) * P.scale2 - log[:, None]), 0.0)
            mass += tl.minimum(strides - at, before + 1) * weight
            if halo:
                next_mass += tl.maximum(at + before + 1 - strides, 0) * weight
        score = tl.sum(mass.reshape(queries, padded, BN), 1)
        if halo:
            moved = tl.sum(next_mass.reshape(queries, padded, BN), 1)
            source = tl.broadcast_to(tl.maximum(place - 1, 0)[None, :], (queries, BN))
            score += tl.gather(moved, source, 1)  # wrong for the first, which is the last of the step before
        forced = (blocks < INIT)[None, :] | (blocks[None, :] > own[:, None] - LOCAL)
        score = tl.where(forced, float("inf"), score)
        free = (place >= halo)[None, :] & (blocks[None, :] <= own[:, None])
        score = tl.where(free, score, float("-inf"))
        best = keep_highest(best, rank_key(score, blocks[None, :]))
    best, whole = merge_chunks(best, lists, arrived, (end + CHUNK - 1) // CHUNK, CHUNKS)
    if whole:
        query_number = first + tl.arange(0, queries)
        line = (batch * P.kv_heads + head).to(tl.int64) * seq + query_number
        store_picks(picks, line, best, query_number < seq, P)
