"""`scaled_dot_product_attention` with one fixed kernel of torch's; in `dense` torch chooses the kernel.

math stores all scores, N² of them; flash never does. flash exists on the CPU for every dtype, on CUDA for
half precision. efficient and cudnn exist only on CUDA, cudnn for half precision. In math half precision is
computed in f32.
"""

from typing import Literal

from harness import Unsupported, implementation, stage

from .._packed import attend_each
from .._stage import in_stage
from ..workload import AttentionWorkload

INSTEAD = "use backend=math, another dtype or attention/dense, which lets torch choose"


@implementation(framework="torch", semantics="dense")
def dense_sdpa(w: AttentionWorkload, *, backend: Literal["math", "flash", "efficient", "cudnn"] = "math"):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    in_stage(w, "attention")
    kernels = {
        "math": SDPBackend.MATH,
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
    }
    group = w.heads // w.kv_heads

    def attend(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        grouped = group > 1 and backend != "efficient"
        if group > 1 and not grouped:
            k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        try:
            with sdpa_kernel(kernels[backend]), stage("attend"):
                result = scaled_dot_product_attention(q, k, v, is_causal=w.causal, enable_gqa=grouped)
        except RuntimeError as error:
            if not str(error).startswith(("No viable backend", "No available kernel")):
                raise
            missing = f"torch has no {backend} kernel for dtype {w.dtype} on {q.device.type}"
            raise Unsupported(f"{missing}; {INSTEAD}") from None
        return result.transpose(1, 2)

    return attend_each(attend) if w.varlen else attend
