"""FlexAttention's own kernel, as torch's inductor writes it in Triton, with its causal mask in blocks of 128.

What `attention/dense_flex` compiles on a GPU, launched as it is written: so it can be planned for one that is
not here, and held to its contract by the interpreter. Blocks without a hidden pair are computed without the
mask.
"""

from harness import Unsupported, implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="dense")
def triton_flex(w: AttentionWorkload):
    in_stage(w, "attention")
    if w.varlen:
        raise Unsupported("varlen=true: its mask differs in every call; use attention/dense_flex")
    if w.dtype == "f64":
        raise Unsupported("dtype=f64: FlexAttention has no kernel for it; use dtype=f32 or attention/dense")

    import torch

    from ._triton_flex_source import BLOCK, kernel_of

    kernel, options, rows = kernel_of(w)
    blocks = -(-w.seq // BLOCK)

    def attend(q, k, v):
        if torch.is_grad_enabled() and q.requires_grad:
            raise Unsupported("its backward is another kernel of inductor's; use mode fwd or triton_flash")
        row = torch.arange(blocks, dtype=torch.int32, device=q.device)
        if w.causal:  # the diagonal's block is masked, all before it are full
            partly, full = torch.ones_like(row), row
        else:
            partly, full = torch.zeros_like(row), torch.full_like(row, blocks)
        index, every = row.unsqueeze(1).expand(-1, blocks).clone(), row.expand(blocks, -1).clone()
        lists = (partly, index, full, every)
        sums, most = torch.empty((2, w.batch, w.heads, w.seq), dtype=torch.float32, device=q.device).unbind(0)
        out = torch.empty((w.batch, w.seq, w.heads, w.head_dim), dtype=q.dtype, device=q.device)
        with stage("attend"):
            grid = (-(-w.seq // rows), w.batch, w.heads)
            kernel[grid](q, k, v, sums, most, *lists, out, **options)
        return out

    return attend
