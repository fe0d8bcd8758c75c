"""Dense attention in chunks of queries: only the scores of one chunk are stored at a time.

Plain products and a softmax, as math kernels compute them, with memory of chunk × N instead of N² (queries in
chunks: Rabe & Staats, arXiv 2112.05682, without their chunks of keys). A causal chunk reads the keys up to
its end, about half of all. A backward computes each chunk again.
"""

from harness import Unsupported, implementation, stage

from .._packed import attend_each
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="dense")
def dense_chunked(w: AttentionWorkload, *, chunk: int = 256):
    import torch
    from torch.utils.checkpoint import checkpoint

    in_stage(w, "attention")
    if chunk < 1:
        raise Unsupported("chunk=0 takes no queries; use 1 or more")

    def step(first, q, k, v):
        """Queries [b, chunk, heads, d] from position `first` on."""
        with stage("attend"):
            q, k, v = (x.to(torch.promote_types(x.dtype, torch.float32)).transpose(1, 2) for x in (q, k, v))
            grouped = q.unflatten(1, (w.kv_heads, -1)).flatten(2, 3) * w.head_dim**-0.5
            scores = (grouped @ k.transpose(-1, -2)).view(*q.shape[:3], -1)
            if w.causal:
                with stage("mask"):
                    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device)
                    scores = scores.masked_fill(future.triu(first + 1), -torch.inf)
            weights = torch.softmax(scores, -1)
            del scores  # returning their memory is part of this stage's time
            result = weights.view(*grouped.shape[:3], -1) @ v
            del weights
            return result.view_as(q).transpose(1, 2)

    def attend(q, k, v):
        results = []
        for first in range(0, q.shape[1], chunk):
            queries = q[:, first : first + chunk]
            end = first + queries.shape[1] if w.causal else None
            arguments = first, queries, k[:, :end], v[:, :end]
            if torch.is_grad_enabled():
                result = checkpoint(step, *arguments, use_reentrant=False, preserve_rng_state=False)
            else:
                result = step(*arguments)
            results.append(result.to(q.dtype))
        return torch.cat(results, 1)

    return attend_each(attend) if w.varlen else attend
