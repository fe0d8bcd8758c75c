"""The paper's decode: one query scores the cached block means, and reads its selected blocks and a window.

From the cache it reads one mean every `stride` tokens, `selected` blocks and `window` keys, while dense
decode reads all (arXiv 2502.11089, section on decoding). The means are part of the cache: a call that
computed them from the keys would read every key. Picked tokens are read in place, without a copy of the
cache.
"""

from harness import implementation, stage

from .._references.paper import lengths, refuse_blocks
from .._stage import in_stage
from ..workload import AttentionWorkload
from ._torch import gated_sum, select, softmax


@implementation(framework="torch", semantics="nsa_paper_decode")
def nsa_paper_decode(w: AttentionWorkload):
    import torch

    in_stage(w, "decode")
    refuse_blocks(w)
    length, stride = lengths(w, fla=False)

    def attend(q, k, v, means_k, means_v, gates=None):
        wide = torch.promote_types(q.dtype, torch.float32)
        now = torch.full((1, 1), w.seq - 1, device=q.device)
        query = q.to(wide).unflatten(2, (w.kv_heads, -1)).permute(0, 2, 3, 1, 4) * w.head_dim**-0.5

        def over(keys, values, visible):
            """Attention to [b, tokens, kv_heads, d]."""
            p = softmax(torch.einsum("bkgtd,bskd->bkgts", query, keys.to(wide)), visible)
            return p, torch.einsum("bkgts,bskd->bkgtd", p, values.to(wide))

        with stage("compressed"):
            ends = torch.arange(means_k.shape[1], device=q.device) * stride + length - 1
            p, coarse = over(means_k, means_v, ends <= now)
        with stage("select"):
            picks = select(w, p, now, w.seq)[:, :, 0]
        with stage("gather"):
            token = (picks[..., None] * w.block + torch.arange(w.block, device=q.device)).flatten(2)
            seen = (token >= 0) & (token < w.seq)
            batch = torch.arange(w.batch, device=q.device)[:, None, None]
            head = torch.arange(w.kv_heads, device=q.device)[:, None]
            keys, values = (x[batch, token.clamp(0, w.seq - 1), head].transpose(1, 2) for x in (k, v))
        with stage("selected"):
            _, fine = over(keys, values, seen[:, :, None, None])
        with stage("window"):
            near = slice(max(0, w.seq - w.window), None)
            _, recent = over(k[:, near], v[:, near], torch.ones_like(now, dtype=torch.bool))
        return gated_sum([coarse, fine, recent], gates).to(q.dtype)

    return attend
