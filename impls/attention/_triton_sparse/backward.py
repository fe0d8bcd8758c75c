"""The launches of the backward's kernels."""

from __future__ import annotations

import torch

from harness import stage

from .configurations import Tiles
from .gradients import branch_products, query_gradients
from .gradients_of_keys import key_gradients, mean_gradients
from .launch import ROWS, Arrays, Kept, grid_of
from .plan import ALL_BRANCHES, COARSE, FINE, GIVEN, NEAR, Plan
from .readers import transpose_lists

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]


def differentiate(
    p: Plan, a: Arrays, kept: Kept, grad: torch.Tensor, tiles: Tiles, *, atomic: bool
) -> Gradients:
    """The gradients of queries, keys, values and gates.

    Of picked keys and values they are summed by transposed lists, or `atomic`ally, in the order that comes.
    """
    seq, means, count = a.sizes
    sums = torch.empty_like(kept.logs)
    gates_grad = torch.empty_like(a.gates) if p.share == GIVEN else None
    with stage("gate"):
        branch_products[(-(-count // ROWS),)](
            kept.parts, grad, a.gates, a.gates if gates_grad is None else gates_grad, sums, count, p, ROWS,
            num_warps=4,
        )  # fmt: skip
    given = (a.gates, grad, kept.logs, sums)
    q_grad, k_grad, v_grad = (torch.empty_like(x) for x in (a.q, a.k, a.v))
    k_sums, v_sums = (torch.zeros_like(x, dtype=torch.float32) if atomic else x for x in (a.k, a.v))
    arrays = (*a[:6], *given, q_grad, k_sums, v_sums, seq, means, count, p)
    whole = tiles.of_query.rows
    with stage("selected"):
        if p.group == 1:
            launch = grid_of(p, a.q, p.tile, 1, tiles.of_query)
            query_gradients[launch](
                *arrays, p.branches, SUM=False, ATOMIC=atomic, TILE=p.tile, GROUP=1, **tiles.of_query.options
            )
        else:
            if p.branches == ALL_BRANCHES:
                launch = grid_of(p, a.q, whole, 1, tiles.of_query)
                query_gradients[launch](
                    *arrays,
                    COARSE | NEAR,
                    SUM=False,
                    ATOMIC=False,
                    TILE=whole,
                    GROUP=1,
                    **tiles.of_query.options,
                )
            launch = grid_of(p, a.q, p.tile, p.group, tiles.of_group)
            query_gradients[launch](
                *arrays, FINE, SUM=p.branches == ALL_BRANCHES, ATOMIC=atomic, TILE=p.tile, GROUP=p.group,
                **tiles.of_group.options,
            )  # fmt: skip
    of_means_k, of_means_v = kept.logs, kept.logs
    if p.branches & COARSE and means:
        with stage("compressed"):
            shape = (a.q.shape[0], means, p.heads, p.width)
            of_means_k, of_means_v = (
                torch.empty(shape, dtype=torch.float32, device=grad.device) for _ in range(2)
            )
            at = tiles.of_mean
            mean_gradients[(-(-means // at.keys), a.q.shape[0] * p.heads)](
                a.q, a.means_k, a.means_v, *given, of_means_k, of_means_v, seq, means, count, p, **at.options
            )
    blocks = -(-seq // p.block)
    readers = bounds = sums
    if not atomic:
        with stage("transpose"):
            readers, bounds = transpose_lists(a.picks, blocks)
    at = tiles.of_key
    with stage("keys"):
        key_gradients[(blocks * -(-p.block // at.keys), a.q.shape[0] * p.kv_heads)](
            a.q, a.k, a.v, *given, readers, bounds, of_means_k, of_means_v, k_sums, v_sums, k_grad, v_grad,
            seq, means, count, p, LISTS=not atomic, ADD=atomic, **at.options,
        )  # fmt: skip
    return q_grad, k_grad, v_grad, gates_grad
