"""Launches of `triton_flash`, as a function that torch differentiates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from .._triton_sparse.plan import power_of_two
from ..workload import AttentionWorkload
from ._triton_flash import forward
from ._triton_flash_backward import key_gradients, query_gradients, row_sums

LEAST_WIDTH = 16  # columns that a matrix instruction takes
SUM_ROWS = 32


class Tile(NamedTuple):
    """Scores of `queries` by `keys` exist at a time, in a launch with this many warps and stages."""

    queries: int
    keys: int
    warps: int
    stages: int


class Tiles(NamedTuple):
    """Tiles of the three kernels with products. In `forward` and `of_query` keys divide queries."""

    forward: Tile
    of_key: Tile
    of_query: Tile


# By dtype and widest head; found by compiling for sm_90 (Triton 3.6 to 3.9). bf16 does not spill up to 128.
TILES = {
    ("bf16", 64): Tiles(Tile(128, 128, 8, 3), Tile(64, 128, 8, 2), Tile(128, 128, 8, 2)),
    ("bf16", 128): Tiles(Tile(128, 128, 8, 3), Tile(64, 128, 8, 2), Tile(128, 64, 8, 2)),
    ("bf16", 256): Tiles(Tile(128, 32, 8, 2), Tile(32, 64, 8, 2), Tile(128, 32, 8, 2)),
    ("f32", 128): Tiles(Tile(64, 16, 8, 1), Tile(16, 32, 8, 1), Tile(32, 32, 8, 1)),
    ("f32", 256): Tiles(Tile(32, 16, 8, 1), Tile(16, 16, 8, 1), Tile(16, 16, 8, 1)),
    ("f64", 128): Tiles(Tile(32, 16, 4, 1), Tile(16, 32, 8, 1), Tile(32, 16, 8, 1)),
}


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: AttentionWorkload) -> Any:
        q, k, v = (x.contiguous() for x in (q, k, v))
        kind = torch.float64 if w.dtype == "f64" else torch.float32
        out = torch.empty_like(q)
        logs = torch.empty((w.batch, w.heads, w.seq), dtype=kind, device=q.device)
        tile = _tiles(w).forward
        grid = (-(-w.seq // tile.queries), w.batch * w.heads)
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
        query_gradients[(-(-w.seq // of_query.queries), w.batch * w.heads)](
            q, k, v, grad, logs, sums, q_grad, PLAIN_SCALE=plain_scale, **_constants(w, of_query)
        )
        return q_grad, k_grad, v_grad, None


def _tiles(w: AttentionWorkload) -> Tiles:
    dtype = "bf16" if w.dtype == "f16" else w.dtype
    return next(tiles for (kind, most), tiles in TILES.items() if kind == dtype and w.head_dim <= most)


def _constants(w: AttentionWorkload, tile: Tile) -> dict[str, Any]:
    """Arguments of all kernels in addition to their tensors; the scale is for a softmax in powers of two."""
    return {
        "seq": w.seq,
        "HEADS": w.heads,
        "KV_HEADS": w.kv_heads,
        "D": w.head_dim,
        "BD": power_of_two(w.head_dim, LEAST_WIDTH),
        "SCALE": math.log2(math.e) / math.sqrt(w.head_dim),
        "CAUSAL": w.causal,
        "BM": tile.queries,
        "BN": tile.keys,
        "num_warps": tile.warps,
        "num_stages": tile.stages,
    }
