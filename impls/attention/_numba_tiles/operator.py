"""MSLK's native sparse attention by tiles: torch computes means and selection, one operator the branches.

A thread takes a tile of one head's queries and computes all three branches and their gated sum. No operator
waits for other threads in between, no mask is written, and only keys that are read are gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch.nn.functional import pad
from torch.utils.flop_counter import register_flop_formula

from harness import Unsupported, stage

from .._branches import block_means
from .._packed import attend_each
from .._selection import select_blocks
from ..workload import AttentionWorkload
from .kernel import WINDOW_ROWS, attend_range, rows_at_once, scratch_size

TILES_SCORED = 32  # whose scores of all blocks are in memory at once
TILES_IN_TURN = 4  # that a thread takes at once


def attention(w: AttentionWorkload) -> Callable[..., Any]:
    """`nsa(q, k, v, gates)`, or the same for each packed sequence."""
    if not w.varlen:
        return _alone(w)

    def each(q: Any, *others: Any) -> Any:
        return _alone(replace(w, varlen=False, seq=q.shape[1]))(q, *others)

    return attend_each(each, gated=w.gated)


def _alone(w: AttentionWorkload) -> Callable[..., Any]:
    window = min(w.window, w.seq)

    def nsa(q: Any, k: Any, v: Any, gates: Any = None) -> Any:
        if q.device.type != "cpu":
            raise Unsupported(f"it is compiled for the CPU, not {q.device.type}; use attention/nsa_mslk")
        if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (q, k, v, gates)):
            raise Unsupported("it has no backward; use mode fwd or attention/nsa_mslk")
        with stage("compress"):
            means = [block_means(x, w.block) for x in (k, v)]
        with stage("select"):
            picks = _pick_blocks(w, q, means[0])
        with stage("attend"):
            rows = [x.transpose(1, 2).flatten(0, 1).contiguous() for x in (k, v, *means)]
            shares = q.new_full((*q.shape[:3], 3), 1 / 3) if gates is None else gates.contiguous()
            chosen, blocks = picks.shape[-1] * w.block, means[0].shape[1]
            _, size = scratch_size(w.head_dim, w.tile, chosen, blocks, window)
            scratch = q.new_empty(torch.get_num_threads(), size)
            return attend_tiles(q.contiguous(), *rows, picks, shares, scratch, w.tile, w.block, window)

    return nsa


def _pick_blocks(w: AttentionWorkload, q: Any, means: Any) -> Any:
    """Selected blocks of all tiles, [b·heads, tiles, count]."""
    span, count = w.tile * TILES_SCORED, min(w.selected, means.shape[1])
    found = []
    for first in range(0, w.seq, span):
        queries = q[:, first : first + span]
        whole = pad(queries, (0, 0, 0, 0, 0, -queries.shape[1] % w.tile))
        picks, _ = select_blocks(w, whole, means, first, 0)
        found.append(pad(picks, (0, count - picks.shape[-1]), value=-1))
    return torch.cat(found, 1)


@torch.library.custom_op("seqsweep::attend_tiles", mutates_args=("scratch",))
def attend_tiles(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mean_k: torch.Tensor,
    mean_v: torch.Tensor,
    picks: torch.Tensor,
    gates: torch.Tensor,
    scratch: torch.Tensor,
    tile: int,
    block: int,
    window: int,
) -> torch.Tensor:
    """The gated sum as a torch operator, so that a trace with fake tensors knows its result and its FLOPs."""
    result = torch.empty_like(q)
    arrays = (x.numpy() for x in (q, k, v, mean_k, mean_v, picks, gates, result))
    attend: Any = partial(attend_range, *arrays)
    tiles = picks.shape[0] * picks.shape[1]
    turns = iter(range(0, tiles, TILES_IN_TURN))

    def take_turns(place: Any) -> None:
        for first in turns:  # a thread that is done takes the next tile: none waits for a slower one
            attend(place, first, min(first + TILES_IN_TURN, tiles), tile, block, window)

    # BLAS on one thread: otherwise it would split each product among all of them.
    with _blas().limit(limits=1), ThreadPoolExecutor(len(scratch)) as pool:
        list(pool.map(take_turns, scratch.numpy()))
    return result


@attend_tiles.register_fake
def _like(q: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(q)


@register_flop_formula(torch.ops.seqsweep.attend_tiles)
def _flops(q: Any, *others: Any, **_: Any) -> int:
    _k, _v, (_, blocks, _), _mean_v, (_, _, count), _gates, _scratch, tile, block, window = others
    batch, seq, heads, width = q

    def parts(rows: int) -> list[tuple[int, int]]:
        tiles = [(a, min(seq, a + tile)) for a in range(0, seq, tile)]
        return [(a, min(last, a + rows)) for first, last in tiles for a in range(first, last, rows)]

    pairs = sum((b - a) * -(-b // block) for a, b in parts(rows_at_once(blocks, tile)))
    pairs += sum((b - a) * min(count, -(-b // block)) * block for a, b in parts(tile))
    pairs += sum((b - a) * (b - max(0, a - window + 1)) for a, b in parts(WINDOW_ROWS))
    return 4 * batch * heads * width * pairs


@cache
def _blas() -> Any:
    """The BLAS libraries of this process, including scipy's: numba calls that one for products."""
    import scipy.linalg  # pyright: ignore[reportUnusedImport] # noqa: F401 - loaded, so that it is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
