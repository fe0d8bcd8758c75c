"""DeepSeek sparse attention as masked dense attention: every score is computed, and most are hidden.

The picked tokens are scattered into a mask of seq × seq that all heads share: O(N²) work and memory, so
picking saves nothing (prefill in DeepSeek-V3.2-Exp's own inference code has this form).
"""

from harness import implementation, stage

from .._references.dsa import refuse_dsa
from ..workload import AttentionWorkload
from ._indexer import index_scores, picked_tokens


@implementation(framework="torch", semantics="dsa")
def dsa_masked(w: AttentionWorkload):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    refuse_dsa(w)
    group = w.heads // w.kv_heads

    def attend(q, k, v, index_q, index_k, index_w):
        with torch.no_grad():
            with stage("score"):
                scores = index_scores(w, 0, index_q, index_k, index_w)
            with stage("select"):
                tokens, exist = picked_tokens(w, scores)
            with stage("mask"):
                visible = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, tokens, exist)
        with stage("attend"):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            result = scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None], enable_gqa=group > 1)
            return result.transpose(1, 2)

    return attend
