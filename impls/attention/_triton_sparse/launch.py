"""Launches of the forward's kernels, and the arrays and grids that the backward's launches also use."""

from __future__ import annotations

from typing import NamedTuple

import torch

from .._triton_tiles import Tile
from .branches import add_gated, attend
from .plan import ALL_BRANCHES, Plan, power_of_two

ROWS = 32  # of a program without products
MATRIX_ROWS = 64  # of Hopper's matrix instructions; one query of fewer heads uses them by transposed scores


class Arrays(NamedTuple):
    """Inputs of the branches: [b, seq, heads, width], means [b, means, kv_heads, width], picks, gates.

    If a form lacks an input, `q` takes its place, and no kernel reads it there.
    """

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    means_k: torch.Tensor
    means_v: torch.Tensor
    picks: torch.Tensor
    gates: torch.Tensor

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of tokens, of means, and of rows: one per query and head."""
        return self.q.shape[1], self.means_k.shape[1], self.q.shape[:3].numel()


class Kept(NamedTuple):
    """Results of the branches, and the logarithms of their softmaxes' sums, [branches, b, seq, heads, …]."""

    parts: torch.Tensor
    logs: torch.Tensor


def keep(p: Plan, q: torch.Tensor) -> Kept:
    """Allocate space for the branches' results."""
    parts = torch.empty((3 if p.branches == ALL_BRANCHES else 1, *q.shape), dtype=q.dtype, device=q.device)
    return Kept(parts, torch.empty(parts.shape[:-1], dtype=torch.float32, device=q.device))


def grid_of(p: Plan, q: torch.Tensor, tile: int, group: int, at: Tile) -> tuple[int, int]:
    """Programs of `attend`: chunks of tiles of queries, and groups of heads."""
    chunks = -(-tile // (at.rows // power_of_two(group)))
    return -(-q.shape[1] // tile) * chunks, q.shape[0] * p.heads // group


def attend_branches(
    p: Plan, a: Arrays, branches: int, out: torch.Tensor | None, kept: Kept | None,
    tile: int, group: int, at: Tile,
) -> None:  # fmt: skip
    """Launch some branches, in programs of at most `tile` queries and of `group` heads.

    `out` gets the gated sum of all branches. `kept` gets the result of each of these branches, and already
    has the results of the others.
    """
    at = at.holding(group)
    flat = tile == 1 and at.rows < MATRIX_ROWS and a.q.dtype != torch.float32
    parts, logs = (a.q, a.q) if kept is None else kept
    attend[grid_of(p, a.q, tile, group, at)](
        *a, a.q if out is None else out, parts, logs, *a.sizes, p, branches,
        SUM=out is not None, KEEP=kept is not None, TILE=tile, GROUP=group, AXIS=int(not flat), **at.options,
    )  # fmt: skip


def add_branches(p: Plan, a: Arrays, kept: Kept) -> torch.Tensor:
    """The gated sum of the branches' results, in a separate pass."""
    out = torch.empty_like(a.q)
    count = a.sizes[2]
    add_gated[(-(-count // ROWS),)](kept.parts, a.gates, out, count, p, ROWS, num_warps=4)
    return out
