"""Naive: make every head's keys and values from the latents and attend those (upstream's `naive`).

A prefill's products are cheapest so. A decode reads heads·(nope + rope + v) cached values per token.
"""

from functools import reduce
from operator import add

from harness import implementation, stage

from ._cost import keeps_heads
from ._phases import on_keys
from ._torch import dequantise, forward_only, future, joined_queries, keys_values, probabilities
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_heads)
def naive(w: MlaWorkload):
    import torch
    from torch.nn.functional import linear

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        q = joined_queries(w, x, weights, freqs)
        parts = [*cached, keys_values(w, x, weights, freqs)]
        mask = future(w, x)
        with stage("scores"):
            scores = [torch.einsum("bshd,bthd->bsht", q, k) for k, _ in parts]
        shares = probabilities(w, scores, None if mask is None else mask[:, None])
        with stage("values"):
            heads = reduce(
                add, (torch.einsum("bsht,bthd->bshd", p, v) for p, (_, v) in zip(shares, parts, strict=True))
            )
        with stage("output"):
            result = linear(heads.flatten(2), weights["wo"])
            del scores, shares  # kept until now, as upstream does; returning their memory is time of a stage
            return result

    return on_keys(w, attend, forward_only)
