"""DeepSeek sparse attention by gathering: copy the picked keys and values of each query, then attend.

It computes chunks of queries, so nothing of size seq × seq exists. Attention costs N·topk, the indexer still
N². A copy of topk keys per query is memory traffic that kernels avoid by reading in place. A backward
computes each chunk again from its inputs and its picks.
"""

from harness import implementation, stage

from .._references.dsa import refuse_dsa
from ..workload import AttentionWorkload
from ._indexer import index_scores, picked_tokens

STEP_BYTES = 256 << 20
STEP_QUERIES = 256
FEWEST_QUERIES = 128  # if only their scores take more: a product of fewer rows is too small


@implementation(framework="torch", semantics="dsa")
def dsa_gather(w: AttentionWorkload):
    import torch
    from torch.utils.checkpoint import checkpoint

    refuse_dsa(w)
    count = min(w.topk, w.seq)
    gathered = 8 * w.batch * count * (2 * w.kv_heads * w.head_dim + w.heads)
    few, many = STEP_BYTES // (gathered + 8 * w.batch * w.seq), STEP_BYTES // gathered
    span = max(1, min(FEWEST_QUERIES, many), min(STEP_QUERIES, few))

    def step(q, k, v, tokens, exist):
        with stage("gather"):
            batch = torch.arange(q.shape[0], device=q.device)[:, None, None]
            keys, values = (x[batch, tokens] for x in (k, v))
        with stage("attend"):
            queries = q.to(k.dtype).unflatten(2, (w.kv_heads, -1)) * w.head_dim**-0.5
            scores = torch.einsum("btkgd,btskd->btkgs", queries, keys)
            weights = torch.softmax(scores.masked_fill(~exist[:, :, None, None], -torch.inf), -1)
            result = torch.einsum("btkgs,btskd->btkgd", weights, values).flatten(2, 3).to(q.dtype)
            # Returning their memory takes a sixth of the call; it is part of this stage's time.
            del keys, values, scores, weights
            return result

    def attend(q, k, v, index_q, index_k, index_w):
        # converted before gathering: a key's gradient is the sum of those of all its copies
        keys, values = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (k, v))
        results = []
        for first in range(0, q.shape[1], span):
            part, past = slice(first, first + span), slice(0, min(first + span, q.shape[1]))
            with torch.no_grad():
                with stage("score"):
                    scores = index_scores(w, first, index_q[:, part], index_k[:, past], index_w[:, part])
                with stage("select"):
                    picks = picked_tokens(w, scores)
            arguments = q[:, part], keys, values, *picks
            if torch.is_grad_enabled():
                result = checkpoint(step, *arguments, use_reentrant=False, preserve_rng_state=False)
            else:
                result = step(*arguments)
            results.append(result)
        return torch.cat(results, 1)

    return attend
