"""Fast path up to 256 new tokens: heads first, one batched product each; above that, the naive path.

This is what #684 describes. Its own code computes something else (it loses the part of the score without
position, and splits the projections in another order), so this is a corrected version. A decode has one new
token and always takes the fast path.
"""

from functools import reduce
from operator import add
from typing import Any

from harness import implementation, stage

from . import naive as standard
from ._cost import keeps_heads
from ._phases import attend_cached_keys
from ._torch import dequantise, forward_only, future, joined_queries, keys_values, probabilities
from .workload import MlaWorkload

LONGEST = 256


def facts(w: MlaWorkload, *_: Any) -> dict[str, Any]:
    return {**keeps_heads(w), "path": "naive" if w.new > LONGEST else "fast"}


@implementation(framework="torch", semantics="dense", facts=facts)
def fast_path(w: MlaWorkload):
    from torch.nn.functional import linear

    if w.new > LONGEST:
        return standard.naive(w)

    def score(q, parts):
        # A function, so that the scores, most of the memory, can be freed before the product with the values.
        with stage("scores"):
            return [q @ k.transpose(-1, -2) for k, _ in parts]

    def attend(x, weights, freqs, cached):
        weights = dequantise(w, weights)
        q = joined_queries(w, x, weights, freqs).transpose(1, 2)
        parts = [
            (k.transpose(1, 2), v.transpose(1, 2)) for k, v in [*cached, keys_values(w, x, weights, freqs)]
        ]
        shares = probabilities(w, score(q, parts), future(w, x))
        with stage("values"):
            heads = reduce(add, (p @ v for p, (_, v) in zip(shares, parts, strict=True)))
        with stage("output"):
            return linear(heads.transpose(1, 2).flatten(2), weights["wo"])

    return attend_cached_keys(w, attend, forward_only)
