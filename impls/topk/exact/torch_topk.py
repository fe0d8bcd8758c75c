"""`torch.topk`: descending; it does not specify which of several equal scores it selects."""

from harness import implementation

from ..workload import TopkWorkload


@implementation(framework="torch", semantics="exact")
def torch_topk(w: TopkWorkload):
    import torch

    def select(scores):
        values, indices = torch.topk(scores, w.topk, dim=-1)
        return values, indices

    return select
