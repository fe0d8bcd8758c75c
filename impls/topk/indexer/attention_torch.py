"""Sparse attention end to end in torch, with its steps marked: `seqsweep profile topk/attention_torch`.

The same as `attention_exact` in jax, where single steps cannot be timed. Option `mask`: by `scatter_`
(DeepSeek-V3.2-Exp, inference/model.py), or by comparing every column with every selected one, for which eager
torch stores batch · rows · topk · seq booleans at once.
"""

import math
from typing import Literal

from harness import implementation, stage

from ..workload import TopkWorkload


@implementation(framework="torch", semantics="attention")
def attention_torch(w: TopkWorkload, *, mask: Literal["scatter", "broadcast"] = "scatter"):
    import torch

    scale = (w.heads * w.head_dim) ** -0.5

    def index_scores(queries, keys, weights, wide):
        keys, weights = keys.to(wide).transpose(1, 2), weights.to(wide) * scale
        scores = keys.new_zeros(w.batch, w.rows, w.seq)
        for head in range(w.heads):
            liked = torch.relu_(queries[:, :, head].to(wide) @ keys)
            scores.addcmul_(liked, weights[:, :, head, None])
        return scores

    def closed_columns(columns):
        if mask == "scatter":
            closed = columns.new_ones((w.batch, w.rows, w.seq), dtype=torch.bool)
            return closed.scatter_(-1, columns, False)
        return (torch.arange(w.seq, device=columns.device) != columns[..., None]).all(-2)

    def sparse(queries, keys, weights, q, k, v):
        wide = torch.promote_types(q.dtype, torch.float32)
        with stage("indexer"):
            scores = index_scores(queries, keys, weights, wide)
        with stage("topk"):
            values, columns = scores.topk(w.topk, -1)
        with stage("mask"):
            closed = closed_columns(columns)
        with stage("attention"):
            heads = []
            for head in range(w.attention_heads):
                logits = q[:, :, head].to(wide) @ k[:, :, head].to(wide).transpose(1, 2)
                logits = (logits / math.sqrt(w.key_dim)).masked_fill_(closed, -torch.inf)
                heads.append(torch.softmax(logits, -1) @ v[:, :, head].to(wide))
            return torch.stack(heads, 2).to(v.dtype), values, columns

    return sparse
