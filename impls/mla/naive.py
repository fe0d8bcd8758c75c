"""Naive: compute every head's keys and values from the latents and attend to those (upstream's `naive`).

This has the cheapest products for a prefill. A decode reads heads·(nope + rope + v) cached values per token.
"""

from harness import implementation

from ._cost import keeps_heads
from ._phases import attend_cached_keys
from ._torch import attend_keys, dequantise, forward_only, future, joined_queries, keys_values
from .workload import MlaWorkload


@implementation(framework="torch", semantics="dense", facts=keeps_heads)
def naive(w: MlaWorkload):
    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        q, parts = joined_queries(w, x, weights, freqs), [*cached, keys_values(w, x, weights, freqs)]
        return attend_keys(w, q, parts, weights, future(w, x))

    return attend_cached_keys(w, attend, forward_only)
