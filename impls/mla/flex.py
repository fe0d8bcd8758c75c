"""FlexAttention: naive keys and values in a kernel that torch.compile generates for this mask.

No scores are stored. The causal mask is a function of two positions. A list says for each block of 128 × 128
scores whether it is computed; those above the diagonal are not. The first call compiles for seconds to a
minute. On the CPU this needs a C++ compiler, and there is no backward and no f64. A decode joins its cache
and the new token, which copies the cache. Source: Dong et al. (arXiv 2412.05496),
torch.nn.attention.flex_attention. The result is that of `naive`.
"""

from typing import Any

from harness import Unsupported, implementation, stage

from ._cost import keeps_heads
from ._phases import attend_cached_keys
from ._torch import dequantise, forward_only, joined_queries, keys_values
from .workload import MlaWorkload

BLOCK = 128


def causal_blocks(seq: int, device: Any) -> Any:
    """The causal mask: blocks before the diagonal are fully visible, those on the diagonal partly."""
    import torch
    from torch.nn.attention.flex_attention import BlockMask

    def seen(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
        return query >= key

    count = -(-seq // BLOCK)
    row = torch.arange(count, dtype=torch.int32, device=device)
    own_first = (row[:, None] + row) % count
    return BlockMask.from_kv_blocks(
        torch.ones_like(row)[None, None],
        own_first[None, None],
        row[None, None],
        row.repeat(count, 1)[None, None],
        BLOCK_SIZE=BLOCK,
        mask_mod=seen,
        seq_lengths=(seq, seq),
    )


@implementation(framework="torch", semantics="dense", facts=keeps_heads)
def flex(w: MlaWorkload):
    import torch
    from torch.nn.attention.flex_attention import flex_attention
    from torch.nn.functional import linear

    if w.phase == "chunk":
        raise Unsupported("phase=chunk: this takes as many queries as keys, or one; use naive_sdpa")

    def refuse(x):
        if x.is_cuda:
            return
        if x.requires_grad:
            raise Unsupported("FlexAttention has no backward on the CPU; use naive_sdpa, or mode fwd")
        if x.dtype == torch.float64:
            raise Unsupported("FlexAttention does not support f64 on the CPU; use naive_sdpa, or dtype=f32")

    kernel = torch.compile(flex_attention, dynamic=False)

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        refuse(x)
        q = joined_queries(w, x, weights, freqs)
        new = keys_values(w, x, weights, freqs)
        with stage("cache"):
            k, v = (torch.cat(parts, 1) for parts in zip(*cached, new, strict=True)) if cached else new
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        mask = causal_blocks(w.seq, x.device) if w.causal and w.phase == "prefill" else None
        with stage("attend"):
            heads = kernel(q, k, v, block_mask=mask, scale=w.scale)
        with stage("output"):
            return linear(heads.transpose(1, 2).flatten(2), weights["wo"])

    return attend_cached_keys(w, attend, forward_only)
