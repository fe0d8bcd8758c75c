"""Naive over several decode steps: tokens one after the other, each with a longer cache.

This is what a server does between two prompts (DeepSeek-V3, inference/generate.py), for one layer. The tokens
are given, as the layers above would give them. Each joins the cache with the keys and values of all heads.
Option `cache`: `beside` keeps new entries separate from the input cache; `joined` appends them, which copies
the cache for each token. Upstream writes into a preallocated buffer.
"""

from harness import implementation

from ._cost import keeps_heads
from ._steps import Cache, grow
from ._torch import attend_keys, dequantise, forward_only, joined_queries, keys_values
from .workload import MlaWorkload


@implementation(framework="torch", semantics="steps", facts=keeps_heads)
def naive_steps(w: MlaWorkload, *, cache: Cache = "beside"):
    import torch

    def decode(x, weights, freqs, cache_k, cache_v):
        forward_only(x)
        weights, parts, results = dequantise(w, weights), [(cache_k, cache_v)], []
        for step in range(w.steps):
            token, turn = x[:, step : step + 1], freqs[step : step + 1]
            parts = grow(parts, keys_values(w, token, weights, turn), cache)
            results.append(attend_keys(w, joined_queries(w, token, weights, turn), parts, weights))
        return torch.cat(results, 1)

    return decode
