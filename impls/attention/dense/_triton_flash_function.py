"""Launches of `triton_flash`, as a function that torch differentiates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from .._triton_sparse.plan import power_of_two
from .._triton_tiles import Tile, tiles_of
from ..workload import AttentionWorkload
from ._triton_flash import forward
from ._triton_flash_backward import key_gradients, query_gradients, row_sums

LEAST_WIDTH = 16  # columns that a matrix instruction needs
SUM_ROWS = 32


class Tiles(NamedTuple):
    """Tiles of the three kernels with products. In `forward` and `of_query`, `keys` divides `rows`."""

    forward: Tile
    of_key: Tile
    of_query: Tile


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: AttentionWorkload) -> Any:
        q, k, v = (x.contiguous() for x in (q, k, v))
        kind = torch.float64 if w.dtype == "f64" else torch.float32
        out = torch.empty_like(q)
        logs = torch.empty((w.batch, w.heads, w.seq), dtype=kind, device=q.device)
        tile = _tiles(w).forward
        grid = (-(-w.seq // tile.rows), w.batch * w.heads)
        forward[grid](q, k, v, out, logs, **_constants(w, tile))
        ctx.save_for_backward(q, k, v, out, logs)
        ctx.workload = w
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        w = ctx.workload
        q, k, v, out, logs = ctx.saved_tensors
        grad = grad.contiguous()
        sums = torch.empty_like(logs)
        q_grad, k_grad, v_grad = (torch.empty_like(x) for x in (q, k, v))
        width = power_of_two(w.head_dim, LEAST_WIDTH)
        row_sums[(-(-w.seq // SUM_ROWS), w.batch * w.heads)](
            out, grad, sums, w.seq, w.heads, w.head_dim, width, SUM_ROWS, num_warps=4
        )
        of_key, of_query = _tiles(w)[1:]
        plain_scale = 1 / math.sqrt(w.head_dim)
        key_gradients[(-(-w.seq // of_key.keys), w.batch * w.kv_heads)](
            q, k, v, grad, logs, sums, k_grad, v_grad, PLAIN_SCALE=plain_scale, **_constants(w, of_key)
        )
        query_gradients[(-(-w.seq // of_query.rows), w.batch * w.heads)](
            q, k, v, grad, logs, sums, q_grad, PLAIN_SCALE=plain_scale, **_constants(w, of_query)
        )
        return q_grad, k_grad, v_grad, None


def _tiles(w: AttentionWorkload) -> Tiles:
    return tiles_of(Tiles, "flash", w)


def _constants(w: AttentionWorkload, tile: Tile) -> dict[str, Any]:
    """Arguments of all kernels besides their tensors. The scale is for a softmax in powers of two."""
    return {
        "seq": w.seq,
        "HEADS": w.heads,
        "KV_HEADS": w.kv_heads,
        "D": w.head_dim,
        "BD": power_of_two(w.head_dim, LEAST_WIDTH),
        "SCALE": math.log2(math.e) / math.sqrt(w.head_dim),
        "CAUSAL": w.causal,
        **tile.options,
    }
