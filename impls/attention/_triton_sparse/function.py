"""The forms of native sparse attention as functions that torch differentiates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from harness import Unsupported

from .._packed import attend_each
from .._triton_tiles import tiles_of
from ..workload import AttentionWorkload
from .backward import differentiate
from .configurations import Tiles
from .dsa import pick_by_indexer, plan_dsa
from .launch import Arrays, Kept
from .mslk import attend_mslk, plan_mslk
from .paper import attend_given, attend_paper, plan_paper
from .plan import ALONE, FINE, GIVEN, Plan

Attend = Callable[..., tuple[torch.Tensor, Arrays, Kept | None]]
Form = Callable[[AttentionWorkload, Tiles], tuple[Plan, Attend]]


def mslk_form(w: AttentionWorkload, *, fused: bool, atomic: bool) -> Callable[..., torch.Tensor]:
    """`nsa(q, k, v, gates)` in MSLK's form, or the same for each packed sequence."""

    def form(w: AttentionWorkload, tiles: Tiles) -> tuple[Plan, Attend]:
        p = plan_mslk(w)
        return p, attend_mslk(p, tiles, fused=fused)

    return _of_sequences(w, form, atomic=atomic)


def paper_form(
    w: AttentionWorkload, length: int, stride: int, *, fused: bool, atomic: bool
) -> Callable[..., torch.Tensor]:
    """`nsa(q, k, v, gates)` in the paper's form, or the same for each packed sequence."""

    def form(w: AttentionWorkload, tiles: Tiles) -> tuple[Plan, Attend]:
        p = plan_paper(w, length, stride)
        return p, attend_paper(p, w, tiles, fused=fused)

    return _of_sequences(w, form, atomic=atomic)


def given_blocks(w: AttentionWorkload, *, atomic: bool) -> Callable[..., torch.Tensor]:
    """`attend(q, k, v, picks)`: only the selected branch."""
    tiles = _tiles(w)
    p = replace(plan_paper(w, w.block, w.block), share=ALONE, branches=FINE)
    attended = _differentiable(p, attend_given(p, tiles), tiles, atomic=atomic)

    def attend(q: Any, k: Any, v: Any, picks: Any) -> torch.Tensor:
        return attended(q, k, v, picks)

    return attend


def dsa_form(w: AttentionWorkload, *, atomic: bool) -> Callable[..., torch.Tensor]:
    """`attend(q, k, v, index_q, index_k, index_w)`: only the picked tokens."""
    tiles = _tiles(w)
    p = plan_dsa(w)
    attended = _differentiable(p, attend_given(p, tiles), tiles, atomic=atomic)

    def attend(q: Any, k: Any, v: Any, index_q: Any, index_k: Any, index_w: Any) -> torch.Tensor:
        return attended(q, k, v, pick_by_indexer(p, index_q, index_k, index_w, tiles.pick_token))

    return attend


def _of_sequences(w: AttentionWorkload, form: Form, *, atomic: bool) -> Callable[..., torch.Tensor]:
    tiles = _tiles(w)

    def alone(w: AttentionWorkload) -> Callable[..., torch.Tensor]:
        return _differentiable(*form(w, tiles), tiles, atomic=atomic)

    def each(q: Any, *others: Any) -> torch.Tensor:
        return alone(replace(w, varlen=False, seq=q.shape[1]))(q, *others)

    if w.varlen:
        return attend_each(each, gated=w.gated)
    whole = alone(w)

    def nsa(q: Any, k: Any, v: Any, gates: Any = None) -> torch.Tensor:
        return whole(q, k, v, gates)

    return nsa


def _tiles(w: AttentionWorkload) -> Tiles:
    if w.dtype == "f64":
        raise Unsupported(
            "dtype=f64: the kernels add in f32; use dtype=f32, or the torch form of the same semantics"
        )
    return tiles_of(Tiles, "sparse", w)


def _differentiable(p: Plan, attend: Attend, tiles: Tiles, *, atomic: bool) -> Callable[..., torch.Tensor]:
    """`attend(q, k, v, gates or picks, keep)` with the backward's kernels; picks have no gradient."""

    class Sparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, other: Any) -> torch.Tensor:
            out, arrays, kept = attend(q, k, v, other, any(ctx.needs_input_grad))
            if kept is not None:
                ctx.save_for_backward(*arrays, *kept)
            return out

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            saved = ctx.saved_tensors
            arrays, kept = Arrays(*saved[:7]), Kept(*saved[7:])
            found = differentiate(p, arrays, kept, grad.contiguous(), tiles, atomic=atomic)
            return found if p.share == GIVEN else (*found[:3], None)

    def attended(*inputs: Any) -> torch.Tensor:
        q, k, v, other = (*inputs, None)[:4]
        rows = (x if x is None else x.contiguous() for x in (q, k, v, other))
        return Sparse.apply(*rows)  # pyright: ignore[reportReturnType]

    return attended
