"""Packed sequences, one after the other or padded to a batch; their boundaries are read on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import stage


def attend_each(attend: Callable[..., Any], *, gated: bool = False) -> Callable[..., Any]:
    """`attend(q, k, v)`, also with gates, of each sequence given by `cu_seqlens`, joined again."""
    import torch

    def each(cu_seqlens, arrays):
        lengths = cu_seqlens.diff().tolist()
        sequences = zip(*(x.split(lengths, 1) for x in arrays), strict=True)
        return torch.cat([attend(*sequence) for sequence in sequences], 1)

    return _taking(each, gated=gated)


def attend_padded(attend: Callable[..., Any], *, gated: bool = False) -> Callable[..., Any]:
    """`attend(lengths, q, k, v)`, also with gates, of all sequences in a batch, padded with zeros."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def each(cu_seqlens, arrays):
        lengths = cu_seqlens.diff().long()
        with stage("pad"):
            batch = [pad_sequence(x[0].split(lengths.tolist()), batch_first=True) for x in arrays]
        result = attend(lengths, *batch)
        with stage("pad"):
            inside = torch.arange(result.shape[1], device=result.device) < lengths[:, None]
            return result[inside][None]

    return _taking(each, gated=gated)


def _taking(each: Callable[..., Any], *, gated: bool) -> Callable[..., Any]:
    """The inputs by the names that a workload gives them."""

    def plain(q, k, v, cu_seqlens):
        return each(cu_seqlens, (q, k, v))

    def weighted(q, k, v, gates, cu_seqlens):
        return each(cu_seqlens, (q, k, v, gates))

    return weighted if gated else plain
