"""Gating by the formula: three products and two sums, each an array as large as the result."""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="gate")
def gate_sum(w: AttentionWorkload):
    in_stage(w, "gate")

    def gate(compressed, selected, window, gates=None):
        if gates is None:
            return (compressed + selected + window) / 3
        of_compressed, of_selected, of_window = gates.unsqueeze(-1).unbind(3)
        return compressed * of_compressed + selected * of_selected + window * of_window

    return gate
