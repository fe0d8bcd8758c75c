"""Absorb: move the up-projection into the query and the result, and attend to the latents directly.

Upstream's default. A decode reads kv_lora + rope cached values per token, 71 times fewer than `naive` in the
v3 configuration. A prefill's products are more expensive: kv_lora wide instead of nope or v.
"""

from harness import implementation

from ._cost import keeps_latents
from ._phases import attend_cached_latents
from ._torch import absorbed_queries, attend_latents, dequantise, forward_only, future, latents
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_latents)
def absorb(w: MlaWorkload):
    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        latent_queries, parts = (
            absorbed_queries(w, x, weights, freqs),
            [*cached, latents(w, x, weights, freqs)],
        )
        return attend_latents(w, latent_queries, parts, weights, future(w, x))

    return attend_cached_latents(w, attend, forward_only)
