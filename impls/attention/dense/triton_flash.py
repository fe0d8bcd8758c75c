"""FlashAttention-2 in Triton (arXiv 2307.08691): one tile of scores at a time, forward and backward.

Tiles that every row sees need no masks. The backward recomputes the scores, once for keys and values and once
for queries. The paper adds to the queries' gradient atomically. So this form has seven products instead of
five, and gives the same bits every time. f32 products are IEEE's, without tensor cores. Those would round to
tf32, which the contract does not allow.
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
