"""Block maxima: search only the k blocks with the largest maxima; they have the k largest scores.

Each of those k blocks has a score at least as large as any in the other blocks, so the result is exact for
any block size. NaN, −inf and ties are as in `torch.topk`. It reads the row once, at memory speed, and then
selects from k·block candidates. This is far less than the row if k·block is; otherwise there is no gain. The
first stage of a two-stage top-k (arXiv 2506.04165) keeps these maxima; keeping their blocks instead makes it
exact.
"""

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload


def count(w: TopkWorkload, block: int) -> int:
    """Number of blocks, if they divide the row and some can be skipped."""
    if block < 1 or w.seq % block:
        raise Unsupported(f"seq {w.seq} does not divide into blocks of {block}; use a divisor")
    if w.seq // block <= w.topk:
        raise Unsupported(
            f"{w.seq // block} blocks of {block} are not more than topk {w.topk}; use smaller blocks"
        )
    return w.seq // block


@implementation(framework="torch", semantics="exact")
def block_maxima(w: TopkWorkload, *, block: int = 64):
    import torch

    blocks, rows = count(w, block), w.batch * w.rows

    def best_blocks(grid):  # the maxima are freed before candidates are gathered
        with stage("maxima"):
            maxima = grid.amax(dim=-1)
        with stage("select"):
            return torch.topk(maxima, w.topk, dim=-1, sorted=False).indices

    def select(scores):
        grid = scores.reshape(rows, blocks, block)
        kept = best_blocks(grid)
        with stage("gather"):
            first = torch.arange(0, rows * blocks, blocks, device=scores.device)[:, None]
            held = grid.reshape(-1, block).index_select(0, (kept + first).reshape(-1))
        with stage("select"):
            values, places = torch.topk(held.reshape(rows, -1), w.topk, dim=-1)
        with stage("gather"):
            indices = kept.gather(1, places // block) * block + places % block
        shape = (w.batch, w.rows, w.topk)
        return values.reshape(shape), indices.reshape(shape)

    return select
