"""Selection by every query's scores, averaged over the tile: the baseline for `select_mean_query`.

The formula as written: `tile` times as many products, and all scores of a tile's queries stored (MSLK #296
before mean queries).
"""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="select")
def select_every_query(w: AttentionWorkload):
    import torch

    in_stage(w, "select")

    def select(q, means):
        starts = torch.arange(means.shape[1], device=q.device) * w.block
        count = min(w.selected, means.shape[1])
        picks = []
        for i, tile in enumerate(q.split(w.tile, 1)):
            queries = tile.to(means.dtype).unflatten(2, (w.kv_heads, -1))
            scores = torch.einsum("btkgd,bjkd->bkgtj", queries, means).mean(3).flatten(1, 2)
            scores = scores.masked_fill(starts >= (i + 1) * w.tile, -torch.inf)
            best = scores.topk(count, -1)
            picks.append(best.indices.masked_fill(best.values == -torch.inf, -1))
        return torch.stack(picks, 2).sort(-1).values.int()

    return select
