"""Naive over several steps: a decode that takes its tokens one after the other, each with a longer cache.

What a server does between two prompts (DeepSeek-V3, inference/generate.py), for one layer: tokens are
given, as the layers above would, and each joins the cache with the keys and values of all heads. `cache` is
how: `beside` what came in, or `joined` to it, a copy a token; upstream writes into a buffer that was there.
"""

from functools import reduce
from operator import add

from harness import implementation, stage

from ._cost import keeps_heads
from ._steps import Cache, grow
from ._torch import dequantise, forward_only, joined_queries, keys_values, probabilities
from .workload import MlaWorkload


@implementation(framework="torch", semantics="steps", facts=keeps_heads)
def naive_steps(w: MlaWorkload, *, cache: Cache = "beside"):
    import torch
    from torch.nn.functional import linear

    def attend(q, parts, weights):
        with stage("scores"):
            scores = [torch.einsum("bshd,bthd->bsht", q, k) for k, _ in parts]
        shares = probabilities(w, scores)
        with stage("values"):
            products = (
                torch.einsum("bsht,bthd->bshd", p, v) for p, (_, v) in zip(shares, parts, strict=True)
            )
            heads = reduce(add, products)
        with stage("output"):
            return linear(heads.flatten(2), weights["wo"])

    def decode(x, weights, freqs, cache_k, cache_v):
        forward_only(x)
        weights, parts, results = dequantise(w, weights), [(cache_k, cache_v)], []
        for step in range(w.steps):
            token, turn = x[:, step : step + 1], freqs[step : step + 1]
            parts = grow(parts, keys_values(w, token, weights, turn), cache)
            results.append(attend(joined_queries(w, token, weights, turn), parts, weights))
        return torch.cat(results, 1)

    return decode
