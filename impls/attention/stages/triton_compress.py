"""Block means in Triton, in f32: the kernel of `triton_nsa`. Its backward is torch's, a copy per token."""

from harness import Unsupported, implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="compress")
def triton_compress(w: AttentionWorkload):
    in_stage(w, "compress")
    if w.dtype == "f64":
        raise Unsupported("dtype=f64: the kernel adds in f32; use dtype=f32, or compress_mean")

    import torch

    from .._triton_sparse.means import average_blocks

    class Average(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x) -> torch.Tensor:  # noqa: ARG004 - the backward needs nothing of it
            return average_blocks(x.contiguous(), w.block, w.block, w.seq // w.block, x.dtype)

        @staticmethod
        def backward(ctx, grad) -> torch.Tensor:  # noqa: ARG004 # pyright: ignore[reportIncompatibleMethodOverride]
            return (grad / w.block).repeat_interleave(w.block, 1)

    def compress(k, v):
        return {"keys": Average.apply(k), "values": Average.apply(v)}

    return compress
