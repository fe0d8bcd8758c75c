"""Short prefill in one Triton kernel: reads keys and values where the projection has written them.

#684's fast path has the same purpose, for a few hundred new tokens: there scores are small, but `naive` moves
much data around them. It copies the rotated key to every head, joins it to the rest and stores all scores.
Here all heads read one rotated key, the parts of a score are two products, and only a tile of scores exists
at a time. The same kernel also handles longer prefills, as `naive_sdpa` does. For decodes use
`triton_decode`.

In f32 its products are IEEE's, without tensor cores: tf32 would exceed the bound.
"""

from harness import Unsupported, implementation, stage

from ._cost import keeps_heads
from ._torch import dequantise, latents, queries
from .workload import MlaWorkload

# Queries, keys, warps and stages with which nothing spills from sm_80 to sm_100 (Triton 3.9).
TILES = {"bf16": (64, 32, 4, 2), "f16": (64, 32, 4, 2), "f32": (32, 16, 4, 1), "f64": (16, 16, 8, 1)}


def width_of_tile(width: int) -> int:
    """The least power of two that is at least a width and that a matrix instruction supports."""
    return max(16, 1 << (width - 1).bit_length())


@implementation(framework="triton", semantics="dense", facts=keeps_heads)
def triton_prefill(w: MlaWorkload):
    if w.phase != "prefill":
        raise Unsupported(
            f"phase={w.phase}: this takes as many queries as keys; use naive, phase=prefill, "
            "or for a decode triton_decode"
        )

    import torch
    from torch.nn.functional import linear

    from ._triton_prefill import attend as kernel

    c = w.widths
    queries_of_tile, keys_of_tile, warps, stages = TILES[w.dtype]

    def prefill(x, weights, freqs):
        if x.requires_grad:
            raise Unsupported("the kernel has no backward; use mode fwd, or naive_sdpa")
        weights = dequantise(w, weights)
        content, position = queries(w, x, weights, freqs)
        ckv, kpe = latents(w, x, weights, freqs)
        with stage("expand"):
            expanded = linear(ckv, weights["wkv_b"])
        with stage("attend"):
            heads = torch.empty((w.batch, w.seq, c.heads * c.v), dtype=x.dtype, device=x.device)
            kernel[(-(-w.seq // queries_of_tile), w.batch * c.heads)](
                content, position.contiguous(), expanded, kpe.contiguous(), heads, w.seq,
                w.scale, w.causal, c.heads, c.nope, c.rope, c.v,
                *map(width_of_tile, (c.nope, c.rope, c.v)), queries_of_tile, keys_of_tile,
                num_warps=warps, num_stages=stages,
            )  # fmt: skip
        with stage("output"):
            return linear(heads, weights["wo"])

    return prefill
