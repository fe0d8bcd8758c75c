"""torch `scatter_`: start closed, write 0 along the last axis (DeepSeek-V3.2-Exp, inference/model.py).

There the closed value is −inf; here it is the family's, so that the mask is the same array. The
indices are widened to int64 first, as `torch.topk` gives them and every version of `scatter_` takes
them: twice their bytes, in the timed part. An index outside [0, seq), a negative one too, raises;
on a GPU it ends the process.
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
