"""The three branches of native sparse attention, each for consecutive tiles of queries.

Query tiles are [b·heads, tiles, tile, d]; so is every result. `first` is the first query's position.
"""

from __future__ import annotations

from typing import Any

from .family import AttentionWorkload


def compressed(w: AttentionWorkload, tiles: Any, first: int, means: Any) -> Any:
    """Query t reads the mean of block j iff j·block ≤ t: also that of its own, unfinished block.

    `means` are keys and values [b, blocks, kv_heads, d].
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    positions = _positions(w, tiles, first).flatten()
    blocks = -(-min(w.seq, first + positions.shape[0]) // w.block)
    starts = torch.arange(0, blocks * w.block, w.block, dtype=torch.int32, device=tiles.device)
    k, v = (_per_query_head(w, x[:, :blocks].transpose(1, 2)) for x in means)
    result = scaled_dot_product_attention(
        tiles.unflatten(0, (-1, w.heads)).flatten(2, 3),
        k.unflatten(0, (-1, w.heads)),
        v.unflatten(0, (-1, w.heads)),
        attn_mask=starts <= positions[:, None],
    )
    return result.flatten(0, 1).view_as(tiles)


def gathered(w: AttentionWorkload, tiles: Any, first: int, tables: Any, picks: Any, *, stride: int) -> Any:
    """Every query reads the picked blocks of its tile up to its own position, each block once.

    `tables` hold keys and values, a row per batch, key head and block; `picks` [b·heads, tiles, count]
    are blocks, −1 for none; `stride` is the distance of a block's elements in tokens. A query that
    sees nothing reads the earliest key, so that no softmax is empty, and its result is set to 0.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    size = tables[0].shape[1] // w.head_dim
    offset = torch.arange(size, dtype=torch.int32, device=tiles.device)
    at = ((picks.int()[..., None] * size + offset) * stride).masked_fill(picks[..., None] < 0, w.seq + w.tile)
    at = at.flatten(2)
    head = torch.arange(tiles.shape[0], device=tiles.device) // (w.heads // w.kv_heads)
    count = tables[0].shape[0] // (tiles.shape[0] // (w.heads // w.kv_heads))
    rows = (head[:, None, None] * count + picks.clamp(min=0)).flatten()
    k, v = (x.index_select(0, rows).view(*at.shape, w.head_dim) for x in tables)
    positions = _positions(w, tiles, first)
    earliest = at.amin(-1, keepdim=True)
    visible = at[:, :, None] <= torch.maximum(positions, earliest)[..., None]
    result = scaled_dot_product_attention(tiles, k, v, attn_mask=visible)
    return result.masked_fill((positions < earliest)[..., None], 0)


def window(w: AttentionWorkload, tiles: Any, first: int, near: Any) -> Any:
    """Query t reads keys t − window + 1 … t.

    `near` are pieces of keys and of values [b, tokens, kv_heads, d] that end with the last query's.
    """
    import torch
    from torch.nn.functional import pad, scaled_dot_product_attention

    back = min(w.window, w.seq) - 1
    tokens = tiles.shape[1] * w.tile + back
    spans = []
    for pieces in near:
        joined = torch.cat(pieces, 1)
        last = pad(joined, (0, 0, 0, 0, tokens - joined.shape[1], 0))
        by_tile = last.unfold(1, w.tile + back, w.tile).permute(0, 2, 1, 4, 3)
        spans.append(_per_query_head(w, by_tile))
    positions = _positions(w, tiles, first)[..., None]
    at = torch.arange(-back, w.tile, dtype=torch.int32, device=tiles.device) + positions[:, :1]
    visible = (at >= 0) & (at <= positions) & (at > positions - w.window)
    # a mask of three axes would send the CPU to the kernel that stores all scores
    return scaled_dot_product_attention(tiles, *spans, attn_mask=visible[None])


def table(x: Any, size: int) -> Any:
    """[b, n, kv_heads, d] as one row of size·d values per batch, key head and block of n."""
    return x.unflatten(1, (-1, size)).permute(0, 3, 1, 2, 4).flatten(3, 4).flatten(0, 2)


def filled(x: Any, size: int) -> Any:
    """[b, n, …] with zeros behind it, up to a multiple of `size`; no query may read them."""
    import torch

    rest = -x.shape[1] % size
    return torch.cat([x, x.new_zeros(x.shape[0], rest, *x.shape[2:])], 1) if rest else x


def block_means(x: Any, size: int, dtype: Any = None) -> Any:
    """Means of blocks of n, [b, blocks, kv_heads, d]; the last one's over the tokens that it has."""
    import torch

    blocks, rest = divmod(x.shape[1], size)
    if not rest:
        return x.unflatten(1, (blocks, size)).mean(2, dtype=dtype)
    whole, last = x.split([blocks * size, rest], 1)
    last = last.mean(1, keepdim=True, dtype=dtype)
    return torch.cat([whole.unflatten(1, (blocks, size)).mean(2, dtype=dtype), last], 1)


def _per_query_head(w: AttentionWorkload, x: Any) -> Any:
    """[b, kv_heads, …] repeated for the query heads that share a key head: [b·heads, …]."""
    return x.repeat_interleave(w.heads // w.kv_heads, 1).flatten(0, 1)


def _positions(w: AttentionWorkload, tiles: Any, first: int) -> Any:
    """Positions of the queries, [tiles, tile]."""
    import torch

    count = tiles.shape[1] * w.tile
    return torch.arange(first, first + count, dtype=torch.int32, device=tiles.device).view(-1, w.tile)
