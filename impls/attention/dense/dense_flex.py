"""FlexAttention: dense attention with its causal or packed mask compiled into the kernel.

A mask of blocks of 128 lets the kernel skip blocks that nothing reads, also across sequences. The mask is
built in every call, since packed sequences differ. torch 2.13 compiles no kernel in f64, on the CPU no
backward, and nothing without a C++ compiler.
"""

from harness import implementation

from .._flex import compiled_flex, refuse_flex
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="dense")
def dense_flex(w: AttentionWorkload):
    import torch
    from torch.nn.attention.flex_attention import create_block_mask

    in_stage(w, "attention")
    refuse_flex(w, "attention/dense")
    kernel = compiled_flex(w, "attention/dense")

    def attend(q, k, v, cu_seqlens=None):
        segment = None
        if cu_seqlens is not None:
            tokens = torch.arange(w.seq, device=q.device)
            segment = torch.searchsorted(cu_seqlens[1:].contiguous(), tokens, right=True)

        def visible(_batch, _head, query, key):
            past = query >= key if w.causal else query >= 0
            return past if segment is None else past & (segment[query] == segment[key])

        return kernel(q, k, v, create_block_mask(visible, None, None, w.seq, w.seq, device=q.device.type))

    return attend
