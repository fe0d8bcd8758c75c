"""Naive through SDPA: every head's keys and values, attended to in torch's fused kernels.

No scores are stored if a fused kernel runs. Keys are wider than values (192 and 128), which some of torch's
kernels do not support; torch then falls back to plain products on the CPU. Option `backend`: `auto` is
torch's own choice; `math` is plain products; `flash` pads the narrower one with zeros to equal widths, 20 %
more work in the two products; `efficient` and `cudnn` are for CUDA. A decode joins its cache and the new
token, which copies the cache. Source: torch.nn.functional.scaled_dot_product_attention. The result is that of
`naive`.
"""

from typing import Literal

from harness import Unsupported, implementation, stage

from ._cost import keeps_heads
from ._phases import attend_cached_keys
from ._torch import dequantise, forward_only, future, joined_queries, keys_values
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_heads)
def naive_sdpa(w: MlaWorkload, *, backend: Literal["auto", "math", "flash", "efficient", "cudnn"] = "auto"):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import linear, pad, scaled_dot_product_attention

    c = w.widths
    width = max(c.nope + c.rope, c.v)
    kernels = {
        "math": SDPBackend.MATH,
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
    }
    causal = w.causal and w.phase == "prefill"

    def mix(q, k, v):
        mask = future(w, q) if w.phase == "chunk" else None
        if backend == "auto":
            return scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=w.scale)
        if backend == "flash":
            q, k, v = (pad(part, (0, width - part.shape[-1])) for part in (q, k, v))
        try:
            with sdpa_kernel(kernels[backend]):
                mixed = scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=w.scale)
        except RuntimeError as error:
            if "No available kernel" not in str(error) and "No viable backend" not in str(error):
                raise
            raise Unsupported(
                f"torch has no {backend} kernel for {w.dtype} at these widths on {q.device.type}; "
                "use backend=auto, or backend=math"
            ) from None
        return mixed[..., : c.v]

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        q = joined_queries(w, x, weights, freqs)
        new = keys_values(w, x, weights, freqs)
        with stage("cache"):
            k, v = (torch.cat(parts, 1) for parts in zip(*cached, new, strict=True)) if cached else new
        with stage("attend"):
            heads = mix(*(part.transpose(1, 2) for part in (q, k, v)))
        with stage("output"):
            return linear(heads.transpose(1, 2).flatten(2), weights["wo"])

    return attend_cached_keys(w, attend, forward_only)
