"""`naive` in jax: one program that XLA compiles, with known planned memory and FLOPs.

It has the same products with the same shapes (DeepSeek-V3's `naive`); XLA decides what to fuse between them.
A compiled program counts more than the matrix products that eager torch counts, so compare `absorb_jax` with
this and not with `naive`.
"""

from functools import reduce
from operator import add

from harness import implementation, stage

from ._cost import keeps_heads
from ._jax import dequantise, forward_only, keys_values, linear, probabilities, product, queries
from ._phases import attend_cached_keys
from .workload import MlaWorkload


@implementation(framework="jax", semantics="dense", facts=keeps_heads)
def naive_jax(w: MlaWorkload):
    import jax.numpy as jnp

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        q = jnp.concatenate(queries(w, x, weights, freqs), -1)
        parts = [*cached, keys_values(w, x, weights, freqs)]
        with stage("scores"):
            scores = [product("bshd,bthd->bsht", q, k) for k, _ in parts]
        shares = probabilities(w, scores)
        with stage("values"):
            heads = reduce(
                add, (product("bsht,bthd->bshd", p, v) for p, (_, v) in zip(shares, parts, strict=True))
            )
        with stage("output"):
            return linear(heads.reshape(*x.shape[:2], -1), weights["wo"])

    return attend_cached_keys(w, attend, forward_only)
