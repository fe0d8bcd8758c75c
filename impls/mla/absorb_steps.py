"""Absorb over several steps: as `naive_steps`, but what grows is a cache of latents.

Per step the up-projection moves into one query and one result, and the latents are attended: in the v3
configuration a token adds 576 numbers where keys and values of all heads are 40960 (DeepSeek-V3's default).
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
