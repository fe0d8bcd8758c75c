"""Selection by mean queries in Triton, in f32: the kernels of `triton_nsa`.

Programs run in parallel over chunks of blocks. Each keeps its highest scores, and the last to arrive merges
them. Of equal scores, the lower block is picked in any order of programs.
"""

from harness import Unsupported, implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="select")
def triton_select(w: AttentionWorkload):
    in_stage(w, "select")
    if w.dtype == "f64":
        raise Unsupported("dtype=f64: the kernels score in f32; use dtype=f32, or select_mean_query")

    from .._triton_sparse.configurations import Tiles
    from .._triton_sparse.mslk import pick_blocks, plan_mslk
    from .._triton_tiles import tiles_of

    p, tiles = plan_mslk(w), tiles_of(Tiles, "sparse", w)

    def select(q, means):
        picks = pick_blocks(p, q.contiguous(), means.contiguous(), tiles)
        return picks.transpose(2, 3).flatten(1, 2)

    return select
