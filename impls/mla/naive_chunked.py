"""Naive, some queries at a time: score memory is that of `chunk` rows of queries, whatever the length.

Each chunk reads only the keys up to its own last query. This halves a causal prefill's products as the chunks
become small; `naive` computes hidden scores too. In training a chunk's scores are recomputed in the backward
(checkpointing), so their memory is bounded there as well. If `chunk` does not divide the length, the last
chunk is shorter. Source: chunked attention as in Rabe and Staats (arXiv 2112.05682), over queries only: a
row's softmax is never split.
"""

from harness import Unsupported, implementation, stage

from ._cost import keeps_heads
from ._torch import dequantise, joined_queries, keys_values, probabilities
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_heads)
def naive_chunked(w: MlaWorkload, *, chunk: int = 256):
    import torch
    from torch.nn.functional import linear
    from torch.utils.checkpoint import checkpoint

    if w.cached:
        raise Unsupported(f"phase={w.phase}: this splits the queries of a whole prompt; use naive")
    if chunk < 1:
        raise Unsupported("chunk=0 has no queries; use 1 or more")

    def block(q, k, v, start):
        with stage("scores"):
            scores = torch.einsum("bshd,bthd->bsht", q, k)
        mask = None
        if w.causal:
            with stage("mask"):
                mask = torch.full(scores.shape[1::2], -torch.inf, dtype=q.dtype, device=q.device)
                mask = mask.triu(start + 1)[:, None]
        (shares,) = probabilities(w, [scores], mask)
        with stage("values"):
            return torch.einsum("bsht,bthd->bshd", shares, v)

    def prefill(x, weights, freqs):
        weights = dequantise(w, weights)
        q = joined_queries(w, x, weights, freqs)
        k, v = keys_values(w, x, weights, freqs)
        heads, start = [], 0
        for rows in q.split(chunk, 1):
            seen = start + rows.shape[1] if w.causal else w.seq
            parts = (rows, k[:, :seen], v[:, :seen], start)
            if torch.is_grad_enabled():
                heads.append(checkpoint(block, *parts, use_reentrant=False, preserve_rng_state=False))
            else:
                heads.append(block(*parts))
            start += rows.shape[1]
        with stage("output"):
            return linear(torch.cat(heads, 1).flatten(2), weights["wo"])

    return prefill
