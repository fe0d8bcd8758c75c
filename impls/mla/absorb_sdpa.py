"""Absorb through SDPA: multi-query attention over the latents, in torch's fused kernels.

In the absorbed form all heads share one key, [latent | rotated part], whose first kv_lora entries are the
value. Values are attended to at the keys' full width and cut afterwards, since torch's kernel for the CPU
takes only equal widths. This is 12.5 % more work in the second product, but stores no scores. If no key is
hidden the heads are rows of one head. A causal prefill broadcasts the shared key without a copy, and its
backward has one gradient of it per head. A decode joins its cache and the new token, which copies the cache.
Source: the multi-query view of absorbed MLA in DeepSeek-V2 (arXiv 2405.04434). The result is that of
`absorb`.
"""

from harness import Unsupported, implementation, stage

from ._cost import keeps_latents
from ._phases import attend_cached_latents
from ._torch import dequantise, forward_only, latents, queries
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_latents)
def absorb_sdpa(w: MlaWorkload):
    import torch
    from torch.nn.functional import linear, scaled_dot_product_attention

    if w.phase == "chunk":
        raise Unsupported("phase=chunk: this takes as many queries as keys, or one; use absorb or naive_sdpa")
    c = w.widths
    hidden = w.causal and w.phase == "prefill"

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        of_keys, of_values = weights["wkv_b"].view(c.heads, c.nope + c.v, c.kv_lora).split([c.nope, c.v], 1)
        content, position = queries(w, x, weights, freqs)
        with stage("absorb"):
            q = torch.cat([torch.einsum("bshd,hdc->bshc", content, of_keys), position], -1)
        new = latents(w, x, weights, freqs)
        with stage("cache"):
            k = torch.cat([torch.cat(parts, -1) for parts in (*cached, new)], 1)[:, None]
        with stage("attend"):
            if hidden:
                k = k.expand(-1, c.heads, -1, -1)
                mixed = scaled_dot_product_attention(q.transpose(1, 2), k, k, is_causal=True, scale=w.scale)
                mixed = mixed.transpose(1, 2)
            else:
                mixed = scaled_dot_product_attention(q.flatten(1, 2)[:, None], k, k, scale=w.scale).view_as(q)
        with stage("absorb"):
            heads = torch.einsum("bshc,hdc->bshd", mixed[..., : c.kv_lora], of_values)
        with stage("output"):
            return linear(heads.flatten(2), weights["wo"])

    return attend_cached_latents(w, attend, forward_only)
