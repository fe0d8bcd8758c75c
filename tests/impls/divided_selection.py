"""Run selection with TRITON_INTERPRET=1 in a separate process, with few and many programs.

Prints how many picks are wrong, by the number of programs to reach. Queries are whole numbers, so that the
mean of a tile is exact, and many scores are equal.
"""

import json

import torch

from impls.attention._triton_sparse import chunks, mslk, paper
from impls.attention._triton_sparse.configurations import Tiles
from impls.attention._triton_tiles import tiles_of
from impls.attention.workload import AttentionWorkload

w = AttentionWorkload(
    seq=86, heads=6, kv_heads=2, head_dim=16, block=8, tile=24, selected=4, kernel=4, stride=2, dtype="f32"
)
tiles = tiles_of(Tiles, "sparse", w)
tiles = tiles._replace(pick=tiles.pick._replace(keys=4), pick_query=tiles.pick_query._replace(keys=8))
torch.manual_seed(0)
q = torch.randint(-1, 2, (1, 1, 6, 16)).repeat(1, 86, 1, 1).float()  # exact means, and equal scores


def draw_means(number):
    return torch.randint(-2, 3, (1, number, 2, 16)).float()


def products(means):
    return torch.einsum("btkgd,bjkd->bkgtj", q.unflatten(2, (2, 3)), means)


def best(scores):
    values, order = scores.sort(dim=-1, descending=True, stable=True)
    picked = torch.where(values[..., :4] == -torch.inf, 99, order[..., :4]).sort(-1).values
    return torch.where(picked == 99, -1, picked).int()


blocks = torch.arange(11)
tile_ends = torch.arange(24, 97, 24)[:, None]
by_tile = draw_means(11)
scores = products(by_tile)[..., ::24, :].masked_fill(blocks * 8 >= tile_ends, -torch.inf)
tile_picks = best(scores).transpose(2, 3)

form = paper.plan_paper(w, 4, 2)
by_query = draw_means(42)
starts, t = torch.arange(0, 84, 2), torch.arange(86)
logits = (products(by_query) * form.scale2).masked_fill(starts + 3 > t[:, None], -torch.inf)
logs = (logits * 0.6931471805599453).logsumexp(-1) / 0.6931471805599453
logs = torch.where(logs.isinf(), 0.0, logs)
common = torch.minimum(starts[:, None] + 4, blocks * 8 + 8) - torch.maximum(starts[:, None], blocks * 8)
masses = (torch.exp2(logits - logs[..., None]) @ (common.clamp(min=0) / 2)).sum(2)
own = t[:, None] // 8
masses = masses.masked_fill((blocks == 0) | (blocks > own - 2), torch.inf)
masses = masses.masked_fill(blocks > own, -torch.inf)
logs = logs.permute(0, 3, 1, 2).flatten(2).contiguous()

chunks.FEWEST = paper.FEWEST = 4  # blocks of a chunk
found = {}
for programs in (1, 2048):
    chunks.PROGRAMS = paper.PROGRAMS = programs
    by_mean = mslk.pick_blocks(mslk.plan_mslk(w), q, by_tile, tiles) != tile_picks
    by_each = paper.pick_blocks(form, w, q, by_query, logs, tiles) != best(masses)
    found[programs] = {"by mean query": int(by_mean.sum()), "by each query": int(by_each.sum())}
print(json.dumps(found))
