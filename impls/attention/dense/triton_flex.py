"""FlexAttention's kernel as torch's inductor generates it in Triton, with a causal mask in blocks of 128.

The same kernel that `attention/dense_flex` compiles on a GPU, launched directly. Therefore it can be compiled
for an absent GPU, and checked in the interpreter. Blocks without a hidden pair are computed without the mask.
"""

from harness import Unsupported, implementation

from .._flex import refuse_flex
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="dense")
def triton_flex(w: AttentionWorkload):
    in_stage(w, "attention")
    if w.varlen:
        raise Unsupported("varlen=true: its mask differs in every call; use attention/dense_flex")
    refuse_flex(w, "attention/dense")

    import torch

    from .._triton_flex_source import BLOCK, Mask, flex_kernel

    def visible(_batch, _head, query, key):
        return query >= key if w.causal else query >= 0

    flex = flex_kernel(w, Mask(visible), "triton_flash")
    blocks = -(-w.seq // BLOCK)

    def attend(q, k, v):
        row = torch.arange(blocks, dtype=torch.int32, device=q.device)
        if w.causal:  # the diagonal's block is masked, all before it are full
            partly, full = torch.ones_like(row), row
        else:
            partly, full = torch.zeros_like(row), torch.full_like(row, blocks)
        index, every = row.unsqueeze(1).expand(-1, blocks).clone(), row.expand(blocks, -1).clone()
        return flex(q, k, v, (partly, index, full, every))

    return attend
