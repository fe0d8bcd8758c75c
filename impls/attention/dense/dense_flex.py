"""FlexAttention: dense attention with its causal or packed mask compiled into the kernel.

A mask of blocks of 128 lets whole blocks that nothing reads be skipped, across sequences, too; it
is built in every call, since packed sequences differ. torch 2.13 compiles no kernel in f64, and on
the CPU none for a backward, and none at all without a C++ compiler.
"""

import os
import shutil

from harness import Unsupported, implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="dense")
def dense_flex(w: AttentionWorkload):
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    in_stage(w, "attention")
    if w.dtype == "f64":
        raise Unsupported("dtype=f64: FlexAttention has no kernel for it; use dtype=f32 or attention/dense")
    compiled = torch.compile(flex_attention, dynamic=False)
    compiler = any(map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++")))

    def attend(q, k, v, cu_seqlens=None):
        if q.device.type == "cpu" and not compiler:
            raise Unsupported("torch finds no C++ compiler for the cpu's kernel; install g++ or use dense")
        if q.device.type == "cpu" and torch.is_grad_enabled() and q.requires_grad:
            raise Unsupported("FlexAttention has no backward on the cpu; use mode fwd or attention/dense")
        segment = None
        if cu_seqlens is not None:
            tokens = torch.arange(w.seq, device=q.device)
            segment = torch.searchsorted(cu_seqlens[1:].contiguous(), tokens, right=True)

        def visible(_batch, _head, query, key):
            past = query >= key if w.causal else query >= 0
            return past if segment is None else past & (segment[query] == segment[key])

        mask = create_block_mask(visible, None, None, w.seq, w.seq, device=q.device.type)
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        result = compiled(q, k, v, block_mask=mask, enable_gqa=w.heads > w.kv_heads)
        return result.transpose(1, 2)

    return attend
