"""Only the selected branch, in Triton: the query heads of a key head share a tile, without gathered copies.

A program reads in place the blocks that `given_blocks_gather` copies a chunk of queries at a time. Scores are
transposed in half precision, because Hopper's matrix units need 64 rows. The backward sums keys' gradients by
transposed lists, in one order, or with `atomic` additions.
"""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="given_blocks")
def triton_given_blocks(w: AttentionWorkload, *, atomic: bool = False):
    in_stage(w, "given_blocks")

    from .._triton_sparse.function import given_blocks

    return given_blocks(w, atomic=atomic)
