"""A chunk of a prompt in torch's fused kernel: the last tokens' queries, and a cache of all keys.

The mask is an array of queries × keys, because torch's causal flag aligns both at their first token, not at
the last.
"""

from harness import implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="chunk")
def chunk_sdpa(w: AttentionWorkload):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    in_stage(w, "chunk")

    def attend(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        with stage("mask"):
            seen = torch.ones(w.queries, w.seq, dtype=torch.bool, device=q.device).tril(w.seq - w.queries)
        with stage("attend"):
            grouped = w.heads > w.kv_heads
            return scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=grouped).transpose(1, 2)

    return attend
