"""Absorb: move the up-projection into the query and the result and attend the latents themselves.

Upstream's default. A decode reads kv_lora + rope cached values per token, 71 times fewer than
`naive` in the v3 configuration; a prefill pays with products kv_lora wide instead of nope or v.
"""

from functools import reduce
from operator import add

from harness import implementation, stage

from ._cost import keeps_latents
from ._phases import on_latents
from ._torch import dequantise, forward_only, future, latents, probabilities, queries
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_latents)
def absorb(w: MlaWorkload):
    import torch
    from torch.nn.functional import linear

    c = w.widths

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        of_keys, of_values = weights["wkv_b"].view(c.heads, c.nope + c.v, c.kv_lora).split([c.nope, c.v], 1)
        content, position = queries(w, x, weights, freqs)
        with stage("absorb"):
            content = torch.einsum("bshd,hdc->bshc", content, of_keys)
        parts = [*cached, latents(w, x, weights, freqs)]
        mask = future(w, x)
        with stage("scores"):
            scores = [
                torch.einsum("bshc,btc->bsht", content, ckv) + torch.einsum("bshr,btr->bsht", position, kpe)
                for ckv, kpe in parts
            ]
        shares = probabilities(w, scores, None if mask is None else mask[:, None])
        with stage("values"):
            products = (
                torch.einsum("bsht,btc->bshc", p, ckv) for p, (ckv, _) in zip(shares, parts, strict=True)
            )
            mixed = reduce(add, products)
        with stage("absorb"):
            heads = torch.einsum("bshc,hdc->bshd", mixed, of_values)
        with stage("output"):
            return linear(heads.flatten(2), weights["wo"])

    return on_latents(w, attend, forward_only)
