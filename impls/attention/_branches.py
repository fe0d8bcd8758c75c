"""The three branches of native sparse attention, each for one step: consecutive tiles of queries.

Queries and results are [b, span, heads, d]; `first` is the first query's position. Masks are additive and in
the queries' dtype: torch would convert a boolean mask to this, in two passes over all keys, most of which
nothing hides. Gathered keys, values and masks are not saved for the backward, which makes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from math import gcd
from typing import Any

from harness import stage

from .workload import AttentionWorkload

WINDOW_ROWS = 64  # queries that share a window's keys: each reads at most so many masked keys
VECTOR = 16  # keys of a window are a multiple of it: the CPU's kernels are slower for 575 than for 576


def attend_compressed(w: AttentionWorkload, query: Any, first: int, means: Any, *, skip: bool = True) -> Any:
    """Query t reads the mean of block j iff j·block ≤ t, including that of its own, unfinished block.

    `means` are keys and values [b, blocks, kv_heads, d]; heads that share a key head read one copy. Blocks
    that begin after the last query are either skipped, or visited and masked.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    span = query.shape[1]
    blocks = -(-min(w.seq, first + span) // w.block) if skip else means[0].shape[1]
    shared = (w.batch * w.kv_heads, w.heads // w.kv_heads)
    k, v = (x[:, :blocks].transpose(1, 2).flatten(0, 1)[:, None].expand(*shared, -1, -1) for x in means)
    grouped = query.transpose(1, 2).unflatten(1, (w.kv_heads, -1)).flatten(0, 1)
    empty = query.new_zeros(0)

    def draw() -> Any:
        positions = torch.arange(first, first + span, device=empty.device)
        starts = torch.arange(0, blocks * w.block, w.block, device=empty.device)
        return _hidden_mask(empty, starts > positions[:, None])

    with stage("mask"):
        mask = draw()
    with _recompute_in_backward({id(mask): draw}):
        result = scaled_dot_product_attention(grouped, k, v, attn_mask=mask)
    return result.unflatten(0, (-1, w.kv_heads)).flatten(1, 2).transpose(1, 2)


def attend_selected(
    w: AttentionWorkload,
    query: Any,
    first: int,
    tables: Any,
    picks: Any,
    *,
    stride: int,
    distinct: bool = True,
    canvas: Any = None,
) -> Any:
    """Every query reads its tile's selected blocks up to its own position, each block once.

    `tables` has keys and values, a row per batch, key head and block. `picks` [b·heads, tiles, count] are
    blocks, −1 for none. `stride` is the distance of a block's elements in tokens. A query that sees nothing
    reads the earliest key, so that no softmax is empty, and its result is set to 0. `distinct`: no block is
    picked twice, so no pick is missing once a tile sees as many blocks as are picked. `canvas` is a mask of
    zeros that the steps share: all of them overwrite the same last columns.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    size = tables[0].shape[1] // w.head_dim
    width = size * stride
    none = (w.seq + w.tile) // width + 1  # begins after every query
    picks = picks.masked_fill(picks < 0, none).sort(-1).values
    tiles = query.unflatten(1, (-1, w.tile)).permute(0, 3, 1, 2, 4).flatten(0, 1)
    head = torch.arange(tiles.shape[0], device=query.device) // (w.heads // w.kv_heads)
    count = tables[0].shape[0] // (tiles.shape[0] // (w.heads // w.kv_heads))
    # A missing pick fetches block 0; its positions are after every query, so the mask hides it.
    rows = (head[:, None, None] * count + picks.masked_fill(picks == none, 0)).flatten()
    chosen = picks.shape[-1]
    shape = (*tiles.shape[:3], chosen * size)
    empty = query.new_zeros(0)

    def fetch(table: Any) -> Any:
        return table.index_select(0, rows).view(*shape[:2], shape[3], w.head_dim)

    # After sorting, keys that a query may not see come last: its tile's own blocks, then missing ones.
    late = _overlap_count(w.tile, width) if distinct and first + w.tile >= chosen * width else chosen
    late = min(late, chosen) * size
    offset = torch.arange(size, device=query.device)
    at = ((picks[..., None] * size + offset) * stride).flatten(2)
    positions = torch.arange(first, first + query.shape[1], device=query.device).view(-1, w.tile)
    earliest = at[..., :1]
    hidden = at[:, :, None, -late:] > torch.maximum(positions, earliest)[..., None]

    def draw() -> Any:
        if canvas is not None and late < shape[3] == canvas.shape[-1]:
            mask = canvas[:, : shape[1]]
        else:
            mask = empty.new_zeros(shape)
        _hidden_mask(empty, hidden, out=mask[..., -late:])
        return mask

    with stage("gather"):
        k, v = (fetch(table) for table in tables)
    with stage("mask"):
        mask = draw()
    # An id identifies a tensor only while it lives; these three outlive the context.
    factories = {id(k): partial(fetch, tables[0]), id(v): partial(fetch, tables[1]), id(mask): draw}
    with _recompute_in_backward(factories):
        result = scaled_dot_product_attention(tiles, k, v, attn_mask=mask)
    if late == shape[3]:
        result = result.masked_fill((positions < earliest)[..., None], 0)
    return result.unflatten(0, (-1, w.heads)).flatten(2, 3).transpose(1, 2)


def attend_window(w: AttentionWorkload, query: Any, first: int, near: Any) -> Any:
    """Query t reads keys t − window + 1 … t.

    `near` are pieces of keys and of values [b, tokens, kv_heads, d] that end with the last query's. Some
    queries of all heads that share a key head read one range of keys together.
    """
    import torch
    from torch.nn.functional import pad, scaled_dot_product_attention

    rows, group = gcd(w.tile, WINDOW_ROWS), w.heads // w.kv_heads
    width = -(-(rows + min(w.window, w.seq) - 1) // VECTOR) * VECTOR
    back = width - rows
    tokens = query.shape[1] + back
    stretches = []
    with stage("gather"):
        for pieces in near:
            last = torch.cat(pieces, 1)[:, -tokens:]
            if last.shape[1] < tokens:
                last = pad(last, (0, 0, 0, 0, tokens - last.shape[1], 0))
            stretches.append(last.unfold(1, width, rows).permute(0, 1, 2, 4, 3).flatten(0, 1))
    parts = query.unflatten(1, (-1, rows)).unflatten(3, (w.kv_heads, group))
    grouped = parts.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(0, 1)

    with stage("mask"):
        key = torch.arange(-back, rows, device=query.device)
        row = torch.arange(rows, device=query.device)[:, None]
        hidden = (key > row) | (key <= row - w.window)
        if first < back:  # before the sequence there is nothing
            begin = torch.arange(first, first + query.shape[1], rows, device=query.device)
            hidden = hidden | (begin[:, None, None] + key < 0)
            hidden = hidden.repeat(query.shape[0], 1, 1)[:, None]
        mask = _hidden_mask(query, hidden).repeat_interleave(group, -2)
    result = scaled_dot_product_attention(grouped, *stretches, attn_mask=mask)
    result = result.unflatten(0, parts.shape[:2]).unflatten(3, (rows, group))
    return result.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)


def gated_sum(branches: Sequence[Any], gates: Any) -> Any:
    """The branches times their gates [b, span, heads, 3], or a third of each, summed in one array."""
    import torch

    wide = torch.promote_types(branches[0].dtype, torch.float32)
    a, b, c = (x.to(wide) for x in branches)
    if gates is None:
        return (a + b).add_(c).div_(3).to(branches[0].dtype)
    of_a, of_b, of_c = gates.to(wide).unsqueeze(-1).unbind(3)
    return (a * of_a).addcmul_(b, of_b).addcmul_(c, of_c).to(branches[0].dtype)


def branch_by_branch(branches: Any, steps: Any, shares: Any, *, in_place: bool) -> Any:
    """The gated sum [b, queries, heads, d], in f32 at least; each branch makes all steps before the next one.

    `in_place` adds a branch's results to one array; otherwise each has its own array until all are computed.
    """
    import torch

    first = steps[0][1]

    def weighted(at: int) -> Iterator[Any]:
        return weighted_steps(branches[at], at, steps, shares)

    if torch.is_grad_enabled():
        wholes = (torch.cat([*weighted(at)], 1) for at in range(len(branches)))
        return reduce(torch.Tensor.add_, wholes if in_place else [*wholes])
    tokens = sum(step[1].shape[1] for step in steps)
    shape = first.shape[0], tokens, *first.shape[2:]
    wide = torch.promote_types(first.dtype, torch.float32)
    sums = [first.new_empty(shape, dtype=wide) for _ in (branches[:1] if in_place else branches)]
    for at in range(len(branches)):
        into = sums[0 if in_place else at].split(first.shape[1], 1)
        for part, found in zip(into, weighted(at), strict=True):
            with stage("gate"):
                (part.add_ if in_place and at else part.copy_)(found)
    return reduce(torch.Tensor.add_, sums)


def weighted_steps(branch: Any, at: int, steps: Iterable[Any], shares: Any) -> Iterator[Any]:
    """The results of branch `at` in each step times its gates, or a third of them, in f32 at least."""
    import torch

    for step, share in zip(steps, shares, strict=True):
        found = branch(*step)
        with stage("gate"):
            wide = torch.promote_types(found.dtype, torch.float32)
            found = found.to(wide) * (1 / 3 if share is None else share[..., at, None])
        yield found


def table(x: Any, size: int) -> Any:
    """[b, n, kv_heads, d] as one row of size·d values per batch, key head and block of n."""
    return x.unflatten(1, (-1, size)).permute(0, 3, 1, 2, 4).flatten(3, 4).flatten(0, 2)


def pad_to_multiple(x: Any, size: int) -> Any:
    """[b, n, …] with zeros after it, up to a multiple of `size`; no query may read them."""
    import torch

    rest = -x.shape[1] % size
    return torch.cat([x, x.new_zeros(x.shape[0], rest, *x.shape[2:])], 1) if rest else x


def block_means(x: Any, size: int, dtype: Any = None, lengths: Any = None) -> Any:
    """Means of blocks of n, [b, blocks, kv_heads, d]; that of the last block is over the tokens that it has.

    `lengths` are those of a batch's sequences, which are followed by zeros.
    """
    import torch

    if lengths is not None:
        sums = pad_to_multiple(x, size).unflatten(1, (-1, size)).sum(2, dtype=dtype)
        starts = torch.arange(0, x.shape[1], size, device=x.device)
        return sums / (lengths[:, None] - starts).clamp(1, size)[..., None, None].to(sums.dtype)
    blocks, rest = divmod(x.shape[1], size)
    if not rest:
        return x.unflatten(1, (blocks, size)).mean(2, dtype=dtype)
    whole, last = x.split([blocks * size, rest], 1)
    last = last.mean(1, keepdim=True, dtype=dtype)
    return torch.cat([whole.unflatten(1, (blocks, size)).mean(2, dtype=dtype), last], 1)


def _recompute_in_backward(factories: Mapping[int, Callable[[], Any]]) -> Any:
    """A context in which a backward saves, for tensors of these ids, only the functions that make them.

    The CPU's kernel saves exactly the tensors that it is given. Other kernels may save copies in another
    layout, which are not recognised here.
    """
    from torch.autograd.graph import saved_tensors_hooks

    def unpack(saved: Any) -> Any:
        return saved() if callable(saved) else saved

    return saved_tensors_hooks(lambda saved: factories.get(id(saved), saved), unpack)


def _overlap_count(tile: int, width: int) -> int:
    """How many blocks of `width` tokens can include tokens of one tile."""
    if width % tile == 0:
        return 1
    # If neither divides the other, a tile may begin with a block's last token.
    return tile // width if tile % width == 0 else (tile - 1) // width + 2


def _hidden_mask(query: Any, hidden: Any, out: Any = None) -> Any:
    """−inf for hidden pairs, in the queries' dtype."""
    import torch

    return torch.where(hidden, query.new_full((), -torch.inf), query.new_zeros(()), out=out)
