"""Absorb over several decode steps: like `naive_steps`, but with a growing cache of latents.

In each step the up-projection moves into one query and one result, and attention reads the latents. In the v3
configuration a token adds 576 numbers to the cache, while keys and values of all heads are 40960
(DeepSeek-V3's default).
"""

from harness import implementation

from ._cost import keeps_latents
from ._steps import Cache, grow
from ._torch import absorbed_queries, attend_latents, dequantise, forward_only, latents
from .workload import MlaWorkload


@implementation(framework="torch", semantics="steps", facts=keeps_latents)
def absorb_steps(w: MlaWorkload, *, cache: Cache = "beside"):
    import torch

    def decode(x, weights, freqs, cache_ckv, cache_kpe):
        forward_only(x)
        weights, parts, results = dequantise(w, weights), [(cache_ckv, cache_kpe)], []
        for step in range(w.steps):
            token, turn = x[:, step : step + 1], freqs[step : step + 1]
            parts = grow(parts, latents(w, token, weights, turn), cache)
            results.append(attend_latents(w, absorbed_queries(w, token, weights, turn), parts, weights))
        return torch.cat(results, 1)

    return decode
