"""torch `scatter_`: start closed, write 0 along the last axis (DeepSeek-V3.2-Exp, inference/model.py).

The closed value there is −inf; here it is the family's, so the array equals that of the other
implementations. The indices are first widened to int64, which `torch.topk` returns and every version of
`scatter_` accepts: twice their bytes, in the timed part. An index outside [0, seq), also a negative one,
raises; on a GPU it ends the process.
"""

from harness import implementation, stage

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="torch", semantics="exact")
def torch_scatter(w: MaskWorkload):
    import torch

    dtype = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}[w.dtype]
    value = float(closed_value(w.dtype))

    def mask(topk_indices):
        with stage("fill"):
            shut = torch.full((w.batch, w.rows, w.seq), value, dtype=dtype, device=topk_indices.device)
        with stage("scatter"):
            return shut.scatter_(-1, topk_indices.long(), 0)

    return mask
