"""The transposed lists: of each block, which lists of picks hold it."""

from __future__ import annotations

import torch


def transpose_lists(picks: torch.Tensor, blocks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(readers, bounds) of picks [b, kv_heads, …, selected], −1 for none.

    `readers` [b·kv_heads, lists·selected] are the numbers of lists, ascending, block after block; those of
    block j stand from `bounds[:, j]` to `bounds[:, j + 1]`. A stable sort: their order is never a race's.
    """
    flat = picks.flatten(2).flatten(0, 1)
    picked, order = torch.sort(torch.where(flat < 0, blocks, flat), stable=True)
    edges = torch.arange(blocks + 1, dtype=picked.dtype, device=picks.device).expand(flat.shape[0], -1)
    bounds = torch.searchsorted(picked, edges.contiguous(), out_int32=True)
    return (order // picks.shape[-1]).to(torch.int32), bounds
