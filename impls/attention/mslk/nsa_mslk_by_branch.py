"""`nsa_mslk` with each branch over the whole sequence before the next, instead of all three step by step.

`in_place` adds each gated branch to one array when it is computed. Without it all three are stored until they
are summed, two results more at the peak (MSLK #296's sequential branches). Both save the same for a backward.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import IN_PLACE, SIDE_BY_SIDE, Form, attention


@implementation(framework="torch", semantics="nsa_mslk")
def nsa_mslk_by_branch(w: AttentionWorkload, *, in_place: bool = True):
    return attention(w, Form(whole=IN_PLACE if in_place else SIDE_BY_SIDE))
