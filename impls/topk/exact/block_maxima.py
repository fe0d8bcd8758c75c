"""Block maxima: the k blocks with the largest maxima hold the k largest scores, and are searched alone.

Each of those k blocks holds a score no smaller than any in the blocks left out, so nothing larger is
lost: exact for any block, and NaN, −inf and ties are as `torch.topk` has them. It reads the row once,
as fast as memory gives it, and then sorts out k·block candidates: far less than the row while k·block
is, and no gain where it is not. The first stage of a two-stage top-k (arXiv 2506.04165) keeps these
maxima themselves; keeping their blocks is what makes it exact.
"""

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload


def count(w: TopkWorkload, block: int) -> int:
    """How many blocks there are, where they divide the row and some can be left out."""
    if block < 1 or w.seq % block:
        raise Unsupported(f"seq {w.seq} does not divide into blocks of {block}; use a divisor")
    if w.seq // block <= w.topk:
        raise Unsupported(
            f"{w.seq // block} blocks of {block} are no more than topk {w.topk}; use smaller blocks"
        )
    return w.seq // block


@implementation(framework="torch", semantics="exact")
def block_maxima(w: TopkWorkload, *, block: int = 64):
    import torch

    blocks, rows = count(w, block), w.batch * w.rows

    def best_blocks(grid):  # no name holds the maxima while candidates are gathered
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
