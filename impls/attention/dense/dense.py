"""Dense: softmax attention over all visible keys, as torch's own kernels compute it.

Packed sequences are computed one after the other; their boundaries are read on the host.
"""

from harness import implementation, stage

from .._packed import attend_each
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="dense")
def dense(w: AttentionWorkload):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    in_stage(w, "attention")
    group = w.heads // w.kv_heads

    def attend(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        if group > 1 and q.is_cuda and q.dtype in {torch.float32, torch.float64}:
            # CUDA's kernels take grouped heads only in half precision; otherwise all scores would be stored
            k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        with stage("attend"):
            result = scaled_dot_product_attention(q, k, v, is_causal=w.causal, enable_gqa=group > 1)
        return result.transpose(1, 2)

    return attend_each(attend) if w.varlen else attend
