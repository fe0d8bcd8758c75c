"""The paper's form in kernels: every query has its own picks, which all heads of a key head share.

Therefore a program of the selected branch has one query of all these heads, padded to a power of two and to
at least the 16 rows that a product needs. In half precision, fewer than 64 heads become the columns of
transposed scores. Programs of the other branches have more queries of one head. Mean keys are in f32, because
their probabilities select.
"""

from __future__ import annotations

from typing import Any

import torch

from harness import stage

from ..workload import AttentionWorkload
from .chunks import NARROWEST, PROGRAMS, divide_steps, room_for_chunks
from .configurations import Tiles
from .launch import Arrays, Kept, add_branches, attend_branches, keep
from .means import average_blocks
from .plan import COARSE, FINE, NEAR, Plan, plan, power_of_two
from .select import pick_by_probability


def plan_paper(w: AttentionWorkload, length: int, stride: int) -> Plan:
    return plan(w, tile=1, group=w.heads // w.kv_heads, length=length, stride=stride, last=length - 1)


def pick_blocks(
    p: Plan, w: AttentionWorkload, q: torch.Tensor, means_k: torch.Tensor, logs: torch.Tensor, tiles: Tiles
) -> torch.Tensor:
    """Picks of each query and key head, [b, kv_heads, seq, selected]."""
    batch, seq = q.shape[:2]
    picks = torch.empty((batch, p.kv_heads, seq, p.selected), dtype=torch.int32, device=q.device)
    at, halo = tiles.pick_query.holding(p.heads_of_key), int(p.length > p.stride)
    queries, blocks = at.rows // power_of_two(p.heads_of_key), -(-seq // p.block)
    groups = -(-seq // queries), batch * p.kv_heads
    keys, programs = max(at.keys, p.slots), groups[0] * groups[1]
    if programs * -(-blocks // (keys - halo)) <= PROGRAMS // 4:
        keys = max(NARROWEST, p.slots)
    at, step = at._replace(keys=keys), keys - halo
    chunk = step * divide_steps(programs, -(-blocks // step))
    grid = *groups, -(-blocks // chunk)
    lists, arrived = room_for_chunks(p, grid, queries, picks)
    pick_by_probability[grid](
        q, means_k, logs, picks, lists, arrived, seq, means_k.shape[1], p, w.init_blocks, w.local_blocks,
        chunk, grid[2], **at.options,
    )  # fmt: skip
    return picks


def attend_paper(p: Plan, w: AttentionWorkload, tiles: Tiles, *, fused: bool) -> Any:
    """`attend(q, k, v, gates, keep)`: the result, the branches' inputs, and the branches' results."""

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gates: torch.Tensor | None, _: bool
    ) -> tuple[torch.Tensor, Arrays, Kept]:
        means = max(0, (q.shape[1] - p.length) // p.stride + 1)
        with stage("compress"):
            means_k = average_blocks(k, p.length, p.stride, means, torch.float32)
            means_v = average_blocks(v, p.length, p.stride, means, v.dtype)
        kept = keep(p, q)
        arrays = Arrays(q, k, v, means_k, means_v, q, q if gates is None else gates)
        for name, branch, at in (
            ("compressed", COARSE, tiles.attend_means), ("window", NEAR, tiles.attend_apart)
        ):  # fmt: skip
            with stage(name):
                attend_branches(p, arrays, branch, None, kept, at.rows, 1, at)
        with stage("select"):
            picks = pick_blocks(p, w, q, means_k, kept.logs[0], tiles)
        arrays = arrays._replace(picks=picks)
        out = torch.empty_like(q) if fused else None
        with stage("selected"):
            attend_branches(p, arrays, FINE, out, kept, 1, p.group, tiles.attend_group)
        if out is not None:
            return out, arrays, kept
        with stage("gate"):
            return add_branches(p, arrays, kept), arrays, kept

    return attend


def attend_given(p: Plan, tiles: Tiles) -> Any:
    """`attend(q, k, v, picks, keep)`: only the selected branch, with given picks."""

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, picks: torch.Tensor, _: bool
    ) -> tuple[torch.Tensor, Arrays, Kept]:
        kept = keep(p, q)
        arrays = Arrays(q, k, v, q, q, picks, q)
        with stage("selected"):
            attend_branches(p, arrays, FINE, None, kept, 1, p.group, tiles.attend_group)
        return kept.parts[0], arrays, kept

    return attend
