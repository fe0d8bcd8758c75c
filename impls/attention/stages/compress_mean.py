"""Block means by the formula: keys, then values, each summed along its blocks."""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="compress")
def compress_mean(w: AttentionWorkload):
    in_stage(w, "compress")

    def compress(k, v):
        return {name: x.unflatten(1, (-1, w.block)).mean(2) for name, x in (("keys", k), ("values", v))}

    return compress
