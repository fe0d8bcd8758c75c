"""Packed attention, one segment at a time in torch: `torch_unique`'s offsets, then SDPA of each segment.

Pairs of different segments are not computed and nothing of size T × T is allocated: FLOPs are Σ length².
Reading lengths and starts on the host waits for the device once per call, which cuDNN's THD kernel does not.
As in TransformerEngine #2522, a wrong offset gives a wrong result.
"""

from harness import implementation, stage

from .torch_unique import torch_unique
from .workload import OffsetsWorkload


@implementation(framework="torch", semantics="attended")
def thd_segments(w: OffsetsWorkload):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    find = torch_unique(w)

    def visible(queries, keys, device):
        """The mask of a segment on indices within it; None if SDPA has this mask built in."""
        if w.kind in {"causal", "padding"}:
            return None
        query = torch.arange(queries, device=device)[:, None]
        key = torch.arange(keys, device=device)
        if w.kind == "bottom_right":
            return query - queries >= key - keys
        return (query >= key) & (query - key < w.window)

    def segments(lengths, starts):
        kept = [length for length in lengths if length > 0]
        return [slice(start, start + length) for start, length in zip(starts, kept, strict=False)]

    def attend(segment_ids_q, segment_ids_kv, positions_q, positions_kv, q, k, v):
        with stage("offsets"):
            found = find(segment_ids_q, segment_ids_kv, positions_q, positions_kv)
            q_lengths, kv_lengths, q_starts, kv_starts = (part.tolist() for part in found)
        with stage("attention"):
            result = torch.zeros_like(q)
            for row in range(w.batch):
                pairs = zip(
                    segments(q_lengths[row], q_starts[row]),
                    segments(kv_lengths[row], kv_starts[row]),
                    strict=False,
                )
                for mine, theirs in pairs:
                    query, key, value = (
                        part[row, at].transpose(0, 1) for part, at in ((q, mine), (k, theirs), (v, theirs))
                    )
                    mask = visible(query.shape[1], key.shape[1], q.device)
                    heads = scaled_dot_product_attention(
                        query, key, value, attn_mask=mask, is_causal=w.kind == "causal"
                    )
                    result[row, mine] = heads.transpose(0, 1)
            return result

    return attend
