"""Packed sequences, attended one after the other; where they begin is read on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def packed(attend: Callable[..., Any], *, gated: bool = False) -> Callable[..., Any]:
    """`attend(q, k, v)` of each sequence that `cu_seqlens` cuts out, joined again; or with gates."""
    import torch

    def each(cu_seqlens, arrays):
        lengths = cu_seqlens.diff().tolist()
        sequences = zip(*(x.split(lengths, 1) for x in arrays), strict=True)
        return torch.cat([attend(*sequence) for sequence in sequences], 1)

    def plain(q, k, v, cu_seqlens):
        return each(cu_seqlens, (q, k, v))

    def weighted(q, k, v, gates, cu_seqlens):
        return each(cu_seqlens, (q, k, v, gates))

    return weighted if gated else plain
