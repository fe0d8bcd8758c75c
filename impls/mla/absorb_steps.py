"""Absorb over several steps: as `naive_steps`, but what grows is a cache of latents.

Per step the up-projection moves into one query and one result, and the latents are attended: in the v3
configuration a token adds 576 numbers where keys and values of all heads are 40960 (DeepSeek-V3's default).
"""

from functools import reduce
from operator import add

from harness import implementation, stage

from ._cost import keeps_latents
from ._steps import Cache, grow
from ._torch import dequantise, forward_only, latents, probabilities, queries
from .workload import MlaWorkload


@implementation(framework="torch", semantics="steps", facts=keeps_latents)
def absorb_steps(w: MlaWorkload, *, cache: Cache = "beside"):
    import torch
    from torch.nn.functional import linear

    c = w.widths

    def attend(content, position, parts, weights):
        of_keys, of_values = weights["wkv_b"].view(c.heads, c.nope + c.v, c.kv_lora).split([c.nope, c.v], 1)
        with stage("absorb"):
            content = torch.einsum("bshd,hdc->bshc", content, of_keys)
        with stage("scores"):
            scores = [
                torch.einsum("bshc,btc->bsht", content, ckv) + torch.einsum("bshr,btr->bsht", position, kpe)
                for ckv, kpe in parts
            ]
        shares = probabilities(w, scores)
        with stage("values"):
            products = (
                torch.einsum("bsht,btc->bshc", p, ckv) for p, (ckv, _) in zip(shares, parts, strict=True)
            )
            mixed = reduce(add, products)
        with stage("absorb"):
            heads = torch.einsum("bshc,hdc->bshd", mixed, of_values)
        with stage("output"):
            return linear(heads.flatten(2), weights["wo"])

    def decode(x, weights, freqs, cache_ckv, cache_kpe):
        forward_only(x)
        weights, parts, results = dequantise(w, weights), [(cache_ckv, cache_kpe)], []
        for step in range(w.steps):
            token, turn = x[:, step : step + 1], freqs[step : step + 1]
            parts = grow(parts, latents(w, token, weights, turn), cache)
            results.append(attend(*queries(w, token, weights, turn), parts, weights))
        return torch.cat(results, 1)

    return decode
