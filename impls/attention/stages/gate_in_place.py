"""Gating as in `nsa_mslk`: one product, then two more that are added to it in place.

Three operators instead of five and one array instead of five, in f32 at least.
"""

from harness import implementation

from .._branches import gated_sum
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="gate")
def gate_in_place(w: AttentionWorkload):
    in_stage(w, "gate")

    def gate(compressed, selected, window, gates=None):
        return gated_sum((compressed, selected, window), gates)

    return gate
