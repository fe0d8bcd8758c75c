"""Selection in parallel over chunks of means: each chunk keeps its highest scores, which are then merged."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._triton_tiles import Tile
from .plan import Plan, power_of_two
from .top import NOTHING, keep_highest

PROGRAMS = 2048  # of a launch; half of them see no key, and the others fill a large GPU
MEANS = 64  # of a chunk, while rows can be divided: smaller chunks leave more scores to merge
FEWEST = 4  # means of a chunk: at 4Ki tokens there are still more programs than an H100 runs at a time
NARROWEST = 16  # scores of a row that a program computes at a time
MERGED = tl.constexpr(1024)  # scores merged at a time, of all rows
MOST = tl.constexpr(128)  # the same of one row


def divide(p: Plan, at: Tile, batch: int, tiles: int, means: int) -> tuple[Tile, int, int, int]:
    """(tile, heads, tiles of queries, means) of a program: the largest that leave enough programs."""
    group, chunk = p.heads_of_key, power_of_two(means, FEWEST)
    count = max(1, at.rows // power_of_two(group))
    while batch * p.heads // group * -(-tiles // count) * -(-means // chunk) < PROGRAMS:
        if chunk > max(MEANS, p.slots):
            chunk //= 2
        elif count > 1:
            count //= 2
        elif group % 2 == 0:
            group //= 2
        elif chunk > FEWEST:
            chunk //= 2
        else:
            break
    keys = max(NARROWEST, p.slots, min(chunk, at.keys))
    return at._replace(rows=count * power_of_two(group), keys=keys), group, count, chunk


def divide_steps(programs: int, steps: int) -> int:
    """Number of steps of one program over the means: as many as leave enough programs."""
    return -(-steps // min(steps, -(-PROGRAMS // programs)))


def room_for_chunks(
    p: Plan, grid: tuple[int, int, int], rows: int, picks: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(space for the highest scores of each program, a counter of arrived programs per tile, at 0)."""
    if grid[2] == 1:
        return picks, picks  # not read
    lists = torch.empty((*grid[:2], rows, grid[2], p.slots), dtype=torch.int64, device=picks.device)
    return lists, torch.zeros(grid[:2], dtype=torch.int32, device=picks.device)


@triton.jit
def merge_chunks(best, lists, arrived, chunks, CHUNKS: tl.constexpr):
    """(the highest scores of all chunks, whether this program has them), for programs along the third axis.

    Each program stores the highest scores of its chunk. The last of the `chunks` programs to arrive merges
    them, so no program waits for another. The result does not depend on which is last, because keys are never
    equal.
    """
    whole = chunks == 1
    if CHUNKS > 1 and chunks > 1:
        tile = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
        slots: tl.constexpr = best.shape[1]
        row = tile.to(tl.int64) * best.shape[0] + tl.arange(0, best.shape[0])
        row = lists + (row * CHUNKS * slots)[:, None]
        tl.store(row + tl.program_id(2) * slots + tl.arange(0, slots)[None, :], best)
        tl.debug_barrier()  # all threads store before the program counts as arrived
        whole = tl.atomic_add(arrived + tile, 1, sem="acq_rel") == chunks - 1
        if whole:
            best = tl.full(best.shape, NOTHING, tl.int64)
            size: tl.constexpr = max(slots, min(MOST, MERGED // best.shape[0]))
            for first in range(0, chunks * slots, size):
                place = first + tl.arange(0, size)[None, :]
                found = tl.load(row + place, mask=place < chunks * slots, other=NOTHING)
                best = keep_highest(best, found)
    return best, whole
