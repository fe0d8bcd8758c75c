"""Kernels of `triton_decode`: each program attends to a part of the keys; a second kernel merges them."""

import triton
import triton.language as tl


@triton.jit
def attend_part(
    content, position, ckv, kpe, new_ckv, new_kpe, table, mixed, largest, total,
    keys, keys_of_part, heads, pages,
    SCALE: tl.constexpr, LATENT: tl.constexpr, ROPE: tl.constexpr, ROPE_PADDED: tl.constexpr,
    HEADS: tl.constexpr, CUT: tl.constexpr, KEYS: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """For some heads and one part of the keys: weighted sum of latents, largest score and sum of weights.

    Heads are the rows of the products, because all share one key. If the last program has fewer heads (CUT),
    its last head fills the remaining rows. The first part begins with the new token. A scale that is not a
    constant would reach the kernel as f32, whatever the dtype. With a PAGE the cache consists of pages of
    that many tokens, and `table` has those of each sequence.
    """
    part, parts = tl.program_id(0), tl.num_programs(0)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    if CUT:
        head = tl.minimum(head, heads - 1)  # rows of one head store the same numbers
    batch = tl.program_id(2).to(tl.int64)
    latent, rope = tl.arange(0, LATENT), tl.arange(0, ROPE_PADDED)
    turned = rope < ROPE
    wide: tl.constexpr = tl.float64 if content.dtype.element_ty == tl.float64 else tl.float32

    scale = tl.full((), SCALE, wide)

    row = batch * heads + head
    q_content = tl.load(content + row[:, None] * LATENT + latent[None, :])
    q_position = tl.load(position + row[:, None] * ROPE + rope[None, :], mask=turned[None, :], other=0.0)

    first = tl.load(new_ckv + batch * LATENT + latent).to(wide)
    first_kpe = tl.load(new_kpe + batch * ROPE + rope, mask=turned, other=0.0).to(wide)
    score = tl.sum(q_content.to(wide) * first[None, :], 1)
    score += tl.sum(q_position.to(wide) * first_kpe[None, :], 1)
    # Every part has a key, so the largest score cannot stay −inf.
    high = tl.where(part == 0, score * scale, float("-inf"))
    weight = tl.where(part == 0, 1.0, 0.0).to(wide) + tl.zeros((HEADS,), wide)
    acc = weight[:, None] * first[None, :]

    begin = part * keys_of_part
    end = tl.minimum(begin + keys_of_part, keys)
    if not PAGE:
        ckv += batch * keys * LATENT
        kpe += batch * keys * ROPE
    for start in range(begin, end, KEYS):
        key = start + tl.arange(0, KEYS)
        there = key < end
        if PAGE:
            page = tl.load(table + batch * pages + key // PAGE, mask=there, other=0)
            at = page.to(tl.int64) * PAGE + key % PAGE
        else:
            at = key.to(tl.int64)
        c = tl.load(ckv + at[:, None] * LATENT + latent[None, :], mask=there[:, None], other=0.0)
        p = tl.load(
            kpe + at[:, None] * ROPE + rope[None, :], mask=there[:, None] & turned[None, :], other=0.0
        )
        scores = tl.dot(q_content, c.T, input_precision="ieee", out_dtype=wide)
        scores += tl.dot(q_position, p.T, input_precision="ieee", out_dtype=wide)
        scores = tl.where(there[None, :], scores * scale, float("-inf"))
        higher = tl.maximum(high, tl.max(scores, 1))
        shrink = tl.exp(high - higher)
        shares = tl.exp(scores - higher[:, None])
        weight = weight * shrink + tl.sum(shares, 1)
        acc = acc * shrink[:, None]
        acc += tl.dot(shares.to(c.dtype), c, input_precision="ieee", out_dtype=wide)
        high = higher

    out = row * parts + part
    tl.store(mixed + out[:, None] * LATENT + latent[None, :], acc)
    tl.store(largest + out, high)
    tl.store(total + out, weight)


@triton.jit
def join_parts(
    mixed, largest, total, out, parts,
    LATENT: tl.constexpr, PARTS: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    """Merge a range of one head's latent over all parts, weighted by their largest scores and sums."""
    row = tl.program_id(0).to(tl.int64)
    latent = tl.program_id(1) * LATENT + tl.arange(0, LATENT)
    width = tl.num_programs(1) * LATENT
    every = tl.arange(0, PARTS)
    at = row * parts
    high = tl.max(tl.load(largest + at + every, mask=every < parts, other=float("-inf")), 0)
    sums = tl.zeros((LATENT,), mixed.dtype.element_ty)
    weight = tl.zeros((TOGETHER,), mixed.dtype.element_ty)
    for begin in range(0, parts, TOGETHER):
        part = begin + tl.arange(0, TOGETHER)
        there = part < parts
        factor = tl.exp(tl.load(largest + at + part, mask=there, other=float("-inf")) - high)
        weight += factor * tl.load(total + at + part, mask=there, other=0.0)
        some = tl.load(mixed + (at + part)[:, None] * width + latent[None, :], mask=there[:, None], other=0.0)
        sums += tl.sum(factor[:, None] * some, 0)
    tl.store(out + row * width + latent, (sums / tl.sum(weight, 0)).to(out.dtype.element_ty))
