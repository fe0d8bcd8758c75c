"""Transposed lists: for each block, the lists of picks that include it."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Readers(NamedTuple):
    """Lists of picks by the blocks that they include, in pieces, [batch · key heads, …].

    A block that all queries read would keep one program busy after all others have ended. Therefore the
    block's program sums only its first piece, and separate programs sum the further pieces.
    """

    lists: torch.Tensor  # numbers of the lists, ascending, block after block
    bounds: torch.Tensor  # the first entry of each block, and the end of the last block's
    further: torch.Tensor  # number of further pieces before those of each block, and in total
    block_of: torch.Tensor  # the block of each further piece; the number of blocks if the piece is empty


def transpose_lists(picks: torch.Tensor, blocks: int, piece: int, tile: int, block: int) -> Readers:
    """The readers of picks [b, heads, tiles, …, selected], −1 for none; a tile reads no later block.

    The sort is stable, so the order of readers never depends on a race. No shape depends on the picks.
    """
    last = (torch.arange(tile, picks.shape[2] * tile + 1, tile, device=picks.device) - 1) // block
    last = last.view(-1, *[1] * (picks.dim() - 3))
    flat = torch.where((picks < 0) | (picks > last), blocks, picks).flatten(2).flatten(0, 1)
    picked, order = torch.sort(flat, stable=True)
    lists = (order // picks.shape[-1]).to(torch.int32)
    edges = torch.arange(blocks + 1, dtype=picked.dtype, device=picks.device)
    bounds = torch.searchsorted(picked, edges.repeat(flat.shape[0], 1))
    lengths = bounds.diff()
    ends = ((lengths - 1).clamp(min=0) // piece).cumsum(-1)
    further = torch.nn.functional.pad(ends, (1, 0))
    numbers = torch.arange(flat.shape[1] // piece, device=picks.device)
    block_of = torch.searchsorted(ends, numbers.repeat(flat.shape[0], 1), right=True)
    return Readers(lists, bounds, further, block_of)
