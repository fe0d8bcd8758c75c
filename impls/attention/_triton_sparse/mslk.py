"""MSLK's form in kernels: a tile of one head's queries shares picks, so one program has all branches."""

from __future__ import annotations

from typing import Any

import torch

from harness import stage

from ..workload import AttentionWorkload
from .chunks import divide, room_for_chunks
from .configurations import Tiles
from .launch import Arrays, Kept, add_branches, attend_branches, keep
from .means import average_blocks
from .plan import ALL_BRANCHES, COARSE, FINE, NEAR, Plan, plan
from .select import pick_by_mean_query


def plan_mslk(w: AttentionWorkload) -> Plan:
    return plan(w, tile=w.tile, group=1, length=w.block, stride=w.block, last=0)


def pick_blocks(p: Plan, q: torch.Tensor, means_k: torch.Tensor, tiles: Tiles) -> torch.Tensor:
    """Picks of each tile and head, [b, kv_heads, tiles, heads of a key head, selected], by means in f32."""
    batch, seq, heads, _ = q.shape
    number, means = -(-seq // p.tile), means_k.shape[1]
    mean_q = average_blocks(q, p.tile, p.tile, number, torch.float32)
    picks = torch.empty(
        (batch, p.kv_heads, number, p.heads_of_key, p.selected), dtype=torch.int32, device=q.device
    )
    at, group, count, chunk = divide(p, tiles.pick, batch, number, means)
    grid = -(-number // count), batch * heads // group, -(-means // chunk)
    lists, arrived = room_for_chunks(p, grid, at.rows, picks)
    pick_by_mean_query[grid](
        mean_q, means_k, picks, lists, arrived, number, means, p, group, chunk, grid[2], **at.options
    )
    return picks


def attend_mslk(p: Plan, tiles: Tiles, *, fused: bool) -> Any:
    """`attend(q, k, v, gates, keep)`: the result, the branches' inputs, and the branches' results."""

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gates: torch.Tensor | None, keeps: bool
    ) -> tuple[torch.Tensor, Arrays, Kept | None]:
        means = -(-q.shape[1] // p.block)
        with stage("compress"):
            scoring = average_blocks(k, p.block, p.block, means, torch.float32)
            coarse = [average_blocks(x, p.block, p.block, means, x.dtype) for x in (k, v)]
        with stage("select"):
            picks = pick_blocks(p, q, scoring, tiles)
        arrays = Arrays(q, k, v, coarse[0], coarse[1], picks, q if gates is None else gates)
        kept = keep(p, q) if keeps or not fused else None
        if fused:
            out = torch.empty_like(q)
            with stage("attend"):
                attend_branches(p, arrays, ALL_BRANCHES, out, kept, p.tile, 1, tiles.attend)
            return out, arrays, kept
        assert kept is not None
        for name, branch in (("compressed", COARSE), ("selected", FINE), ("window", NEAR)):
            with stage(name):
                attend_branches(p, arrays, branch, None, kept, p.tile, 1, tiles.attend_apart)
        with stage("gate"):
            return add_branches(p, arrays, kept), arrays, kept

    return attend
