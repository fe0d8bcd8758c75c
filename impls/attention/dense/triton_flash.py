"""FlashAttention-2 in Triton (arXiv 2307.08691): one tile of scores at a time, forward and backward.

The backward recomputes them, once for keys and values and once for queries, while the paper adds to the
queries' gradient atomically: seven products instead of five, and the same bits every time. In f32 products
are IEEE's, by the general arithmetic units: tensor cores would round to tf32, which the contract does not
allow.
"""

from harness import Unsupported, implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="dense")
def triton_flash(w: AttentionWorkload):
    in_stage(w, "attention")
    if w.varlen:
        raise Unsupported("varlen=true: the kernels take one sequence; use varlen=false or attention/dense")
    widest = 128 if w.dtype == "f64" else 256
    if w.head_dim > widest:
        raise Unsupported(
            f"head_dim {w.head_dim}: {w.dtype} tiles hold {widest} columns; use less or attention/dense"
        )

    from ._triton_flash_function import Flash

    def attend(q, k, v):
        with stage("attend"):
            return Flash.apply(q, k, v, w)

    return attend
