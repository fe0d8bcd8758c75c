"""Selection by mean queries: mean(Q·K) = mean(Q)·K, so a tile of 256 needs one product instead of 256.

The sparse forms select in this way: the scores of some tiles at a time, then the best of each (MSLK #296).
"""

from harness import implementation

from .._selection import select_blocks
from .._stage import in_stage
from ..workload import AttentionWorkload

TILES = 16  # scored together: only their scores grow with tiles times blocks


@implementation(framework="torch", semantics="select")
def select_mean_query(w: AttentionWorkload):
    import torch

    in_stage(w, "select")

    def select(q, means):
        span = w.tile * TILES
        padded = torch.nn.functional.pad(q, (0, 0, 0, 0, 0, -w.seq % w.tile)) if w.seq % w.tile else q
        parts = [
            select_blocks(w, part, means, i * span, 0)[0] for i, part in enumerate(padded.split(span, 1))
        ]
        count = min(w.selected, means.shape[1])
        parts = [torch.nn.functional.pad(x, (0, count - x.shape[-1]), value=-1) for x in parts]
        return torch.cat(parts, 1).unflatten(0, (w.batch, w.heads)).sort(-1).values.int()

    return select
