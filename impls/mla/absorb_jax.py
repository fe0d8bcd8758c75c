"""`absorb` in jax: one program that XLA compiles, with known planned memory and FLOPs.

The projections are moved to the query and the result, and attention reads the latents (DeepSeek-V3's
`absorb`). A decode reads kv_lora + rope cached values per token. Its baseline is `naive_jax`.
"""

from functools import reduce
from operator import add

from harness import implementation, stage

from ._cost import keeps_latents
from ._jax import dequantise, forward_only, latents, linear, probabilities, product, queries
from ._phases import attend_cached_latents
from .workload import MlaWorkload


@implementation(framework="jax", semantics="dense", facts=keeps_latents)
def absorb_jax(w: MlaWorkload):
    c = w.widths

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        up = weights["wkv_b"].reshape(c.heads, c.nope + c.v, c.kv_lora)
        content, position = queries(w, x, weights, freqs)
        with stage("absorb"):
            content = product("bshd,hdc->bshc", content, up[:, : c.nope])
        parts = [*cached, latents(w, x, weights, freqs)]
        with stage("scores"):
            scores = [
                product("bshc,btc->bsht", content, ckv) + product("bshr,btr->bsht", position, kpe)
                for ckv, kpe in parts
            ]
        shares = probabilities(w, scores)
        with stage("values"):
            mixed = reduce(
                add, (product("bsht,btc->bshc", p, ckv) for p, (ckv, _) in zip(shares, parts, strict=True))
            )
        with stage("absorb"):
            heads = product("bshc,hdc->bshd", mixed, up[:, c.nope :])
        with stage("output"):
            return linear(heads.reshape(*x.shape[:2], -1), weights["wo"])

    return attend_cached_latents(w, attend, forward_only)
