"""Quickselect on the host: `numpy.argpartition`, unsorted."""

from harness import implementation, stage

from ..workload import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def partition(w: TopkWorkload):
    import numpy as np

    def select(scores):
        # numpy partitions bfloat16 with one call per comparison; widening first is many times faster.
        keys = scores.astype(np.float32) if w.dtype == "bf16" else scores
        with stage("select"):
            indices = np.argpartition(keys, -w.topk, axis=-1)[..., -w.topk :]
        with stage("gather"):
            return np.take_along_axis(scores, indices, axis=-1), indices

    return select
