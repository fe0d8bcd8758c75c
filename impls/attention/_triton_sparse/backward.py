"""Launches of the backward's kernels."""

from __future__ import annotations

from typing import Any

import torch

from harness import stage

from .configurations import Tiles
from .gradients import branch_products, query_gradients
from .gradients_of_keys import further_gradients, key_gradients, mean_gradients
from .launch import ROWS, Arrays, Kept, grid_of
from .plan import ALL_BRANCHES, COARSE, FINE, GIVEN, NEAR, Plan
from .readers import transpose_lists

PIECE_ROWS = 1 << 14  # rows of a piece of a list of readers, which one program visits
PROGRAMS = 256  # at most, over tiles of means and pieces of queries: each stores 64 KiB for heads of 128

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]


def differentiate(
    p: Plan, a: Arrays, kept: Kept, grad: torch.Tensor, tiles: Tiles, *, atomic: bool
) -> Gradients:
    """Gradients of queries, keys, values and gates.

    Gradients of picked keys and values are summed by transposed lists, or with `atomic` additions in
    arbitrary order.
    """
    count = a.sizes[2]
    sums = torch.empty_like(kept.logs)
    gates_grad = torch.empty_like(a.gates) if p.share == GIVEN else None
    with stage("gate"):
        branch_products[(-(-count // ROWS),)](
            kept.parts, grad, a.gates if gates_grad is None else gates_grad, sums, count, p, ROWS, num_warps=8
        )
    given = (a.gates, grad, kept.logs, sums)
    picked = [torch.zeros_like(x, dtype=torch.float32) if atomic else x for x in (a.k, a.v)]
    with stage("query_gradients"):
        q_grad = _of_queries(p, a, given, picked, tiles, atomic=atomic)
    means = [kept.logs, kept.logs]
    if p.branches & COARSE:
        with stage("compressed"):
            means = _of_means(p, a, given, tiles)
    with stage("key_gradients"):
        k_grad, v_grad = _of_keys(p, a, given, means, picked, tiles, atomic=atomic)
    return q_grad, k_grad, v_grad, gates_grad


def _of_queries(
    p: Plan, a: Arrays, given: Any, picked: list[torch.Tensor], tiles: Tiles, *, atomic: bool
) -> torch.Tensor:
    """Queries' gradients, by one launch if all branches share tiles, else the selected branch comes last."""
    q_grad = torch.empty_like(a.q)
    means_k, terms = split_means(a.means_k, a.q.dtype)
    arrays = (*a[:3], means_k, *a[4:6], *given, q_grad, *picked, *a.sizes, p)
    branches, at = p.branches, tiles.of_query
    if p.tile == 1 and branches == ALL_BRANCHES:
        at = tiles.of_query_apart
        query_gradients[grid_of(p, a.q, at.rows, 1, at)](
            *arrays, COARSE | NEAR, terms, SUM=False, ATOMIC=False, TILE=at.rows, GROUP=1, AXIS=1,
            **at.options,
        )  # fmt: skip
        branches = FINE
    if branches == FINE:
        at = tiles.of_group.holding(p.group)
    query_gradients[grid_of(p, a.q, p.tile, p.group, at)](
        *arrays, branches, terms, SUM=branches != p.branches, ATOMIC=atomic, TILE=p.tile, GROUP=p.group,
        AXIS=int(branches != FINE), **at.options,
    )  # fmt: skip
    return q_grad


def split_means(means: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
    """(f32 mean keys of bf16 queries as bf16 terms with the same exact sum, lowest first; number of terms).

    A kernel that splits them itself needs 78 more registers, and its copies of the next tile do not overlap.
    """
    if means.dtype == dtype or dtype != torch.bfloat16:
        return means, 1
    terms = list[torch.Tensor]()
    rest = means
    for _ in range(3):
        terms.insert(0, rest.to(dtype))
        rest = rest - terms[0]
    return torch.cat(terms, 1), len(terms)


def _of_means(p: Plan, a: Arrays, given: Any, tiles: Tiles) -> Any:
    """Gradients of mean keys and values, [b, means, kv_heads, width], f32, summed over pieces of queries."""
    (seq, means, _), at = a.sizes, tiles.of_mean
    programs = -(-means // at.keys) * a.q.shape[0] * p.kv_heads
    if not programs:
        return [given[2]] * 2
    pieces = max(1, min(PROGRAMS // programs, seq * p.heads_of_key // at.rows))
    shape = (2, pieces, *a.means_k.shape)
    found = torch.empty(shape, dtype=torch.float32, device=a.q.device)
    mean_gradients[(programs // (a.q.shape[0] * p.kv_heads) * pieces, a.q.shape[0] * p.kv_heads)](
        a.q, a.means_k, a.means_v, *given, *found.unbind(), *a.sizes, p, pieces, **at.options
    )
    return found.sum(1).unbind() if pieces > 1 else found[:, 0].unbind()


def _of_keys(
    p: Plan, a: Arrays, given: Any, means: list[torch.Tensor], picked: list[torch.Tensor],
    tiles: Tiles, *, atomic: bool,
) -> list[torch.Tensor]:  # fmt: skip
    """Gradients of keys and values, from all branches."""
    seq, number, count = a.sizes
    blocks, at = -(-seq // p.block), tiles.of_key
    parts, heads = -(-p.block // at.keys), a.q.shape[0] * p.kv_heads
    piece = max(1, PIECE_ROWS // (p.tile * p.group))
    pieces = entries = 0
    lists = bounds = further = a.picks
    partial = picked
    if not atomic:
        with stage("transpose"):
            lists, bounds, further, block_of = transpose_lists(a.picks, blocks, piece, p.tile, p.block)
        entries, pieces = lists.shape[1], block_of.shape[1]
        if pieces:
            shape = (heads, pieces, p.block, p.width)
            partial = [torch.empty(shape, dtype=torch.float32, device=a.q.device) for _ in range(2)]
            further_gradients[(pieces * parts, heads)](
                a.q, a.k, a.v, *given, lists, bounds, further, block_of, *partial,
                seq, entries, pieces, count, p, piece, **at.options,
            )  # fmt: skip
    found = [torch.empty_like(x) for x in (a.k, a.v)]
    key_gradients[(blocks * parts, heads)](
        a.q, a.k, a.v, *given, lists, bounds, further, *partial, *means, *picked, *found,
        seq, entries, pieces, number, count, p, piece, ADD=atomic, **at.options,
    )  # fmt: skip
    return found
