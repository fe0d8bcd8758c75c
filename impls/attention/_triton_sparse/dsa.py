"""DeepSeek's form in kernels: a token is a block of length one, and all heads share a query's picks."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness import stage

from .._triton_tiles import Tile
from ..workload import AttentionWorkload
from .indexer import pick_tokens
from .paper import plan_paper
from .plan import ALONE, FINE, Plan, power_of_two


def plan_dsa(w: AttentionWorkload) -> Plan:
    selected = min(w.topk, w.seq)
    return replace(
        plan_paper(w, w.block, w.block),
        block=1,
        selected=selected,
        slots=power_of_two(selected, 2),
        lists=1,
        share=ALONE,
        branches=FINE,
    )


def pick_by_indexer(
    p: Plan, index_q: torch.Tensor, index_k: torch.Tensor, index_w: torch.Tensor, at: Tile
) -> torch.Tensor:
    """Picks of each query, [b, 1, seq, selected]."""
    batch, seq, heads, width = index_q.shape
    picks = torch.empty((batch, 1, seq, p.selected), dtype=torch.int32, device=index_q.device)
    with stage("select"):
        pick_tokens[(seq, batch)](
            index_q.contiguous(), index_k.contiguous(), index_w.contiguous(), picks, seq,
            heads, power_of_two(heads, 16), width, power_of_two(width, 16), (heads * width) ** -0.5,
            p.selected, max(p.slots, at.keys), at.keys, num_warps=at.warps, num_stages=at.stages,
        )  # fmt: skip
    return picks
