"""Only the selected branch: attention of every query to the tokens of given blocks, gathered per query.

XunhaoLai's native-sparse-attention-triton calls this top-k sparse attention; the selection can come from
elsewhere. It is the paper's second branch as in `nsa_paper`: blocks are gathered for every query and key
head, a chunk of queries at a time, and a backward gathers them again.
"""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload
from ._torch import attend_picked, queries_at_a_time


@implementation(framework="torch", semantics="given_blocks")
def given_blocks_gather(w: AttentionWorkload):
    import torch
    from torch.nn.functional import pad
    from torch.utils.checkpoint import checkpoint

    in_stage(w, "given_blocks")
    span = queries_at_a_time(w)

    def step(first, q, keys, values, picks):
        now = torch.arange(first, first + q.shape[1], device=q.device)[:, None]
        wide = torch.promote_types(q.dtype, torch.float32)
        query = q.to(wide).unflatten(2, (w.kv_heads, -1)).permute(0, 2, 3, 1, 4) * w.head_dim**-0.5
        result = attend_picked(w, query, keys, values, picks, now)
        return result.permute(0, 3, 1, 2, 4).flatten(2, 3).to(q.dtype)

    def attend(q, k, v, picks):
        fill = (0, 0, 0, -w.seq % w.block)
        keys, values = (pad(x.transpose(1, 2), fill) for x in (k, v))
        results = []
        for first in range(0, w.seq, span):
            part = slice(first, first + span)
            arguments = first, q[:, part], keys, values, picks[:, :, part].long()
            if torch.is_grad_enabled():
                result = checkpoint(step, *arguments, use_reentrant=False, preserve_rng_state=False)
            else:
                result = step(*arguments)
            results.append(result)
        return torch.cat(results, 1)

    return attend
