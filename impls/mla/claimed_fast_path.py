"""The fast path as in #684's commits: meant to fail, because it computes a different attention.

It is used for up to 256 new tokens without a mask (an open prefill, or a single token). There it differs from
upstream in these ways, which are reproduced here so that they run. Projections are split with the position
first, and those of `wkv_b` by kind and not by head. Queries and keys keep only their rotated part, so content
does not affect the scores. A decode does not run, because these keys do not fit the cache. With a mask, and
above 256 tokens, it is `naive` itself and right. It is no baseline: `fast_path` is the corrected version.
Source: DeepSeek-V3 #684.
"""

from typing import Any

from harness import Unsupported, implementation, stage

from . import naive as standard
from ._cost import BYTES, keeps_heads
from ._torch import dequantise, keys_values, probabilities, queries
from .fast_path import LONGEST
from .workload import MlaWorkload


def takes_fast_path(w: MlaWorkload) -> bool:
    """Whether the fast path computes a prefill: it must be short and have no mask."""
    return w.phase == "prefill" and w.new <= LONGEST and (w.seq == 1 or not w.causal)


def facts(w: MlaWorkload, *_: Any) -> dict[str, Any]:
    """On the fast path only the rotated part of a key is left, but for every head."""
    c = w.widths
    of_part = {"cache_bytes_per_token": c.heads * (c.rope + c.v) * BYTES[w.dtype]}
    return {
        **(of_part if takes_fast_path(w) else keeps_heads(w)),
        "path": "claimed" if takes_fast_path(w) else "naive",
    }


def fails(w: MlaWorkload, _: Any) -> dict[str, str]:
    """Checks of single sequences or of zeros pass: it is wrong, but only within a token."""
    order, content = "projections are split in another order (#684)", "scores lose content (#684)"
    known = {"equivalence": order, "input_scales": order} if takes_fast_path(w) else {}
    if takes_fast_path(w) and w.seq > 1:
        known["content_matters"] = content
    return known if w.causal else {**known, "boundary": f"up to {LONGEST} tokens without a mask, {order}"}


@implementation(
    framework="torch",
    semantics="dense",
    facts=facts,
    fails=fails,
    expect={
        "incorrect": "it splits projections in another order and scores without content (#684)",
        "when": takes_fast_path,
    },
)
def claimed_fast_path(w: MlaWorkload):
    import torch
    from torch.nn.functional import linear

    c = w.widths
    if w.cached:
        raise Unsupported("keys without content do not fit a cache of nope + rope values; use fast_path")
    if not takes_fast_path(w):
        return standard.naive(w)

    def misread(weights):
        """The same numbers, ordered so that correct code reads them as the commits do."""
        last = "wq_b" if c.q_lora else "wq"
        keys, values = weights["wkv_b"].split([c.heads * c.nope, c.heads * c.v])
        by_head = [keys.unflatten(0, (c.heads, -1)), values.unflatten(0, (c.heads, -1))]
        return {
            **weights,
            last: weights[last].unflatten(0, (c.heads, -1)).roll(-c.rope, 1).flatten(0, 1),
            "wkv_a": weights["wkv_a"].roll(-c.rope, 0),
            "wkv_b": torch.cat(by_head, 1).flatten(0, 1),
        }

    def prefill(x, weights, freqs):
        weights = misread(dequantise(w, weights))
        _, q = queries(w, x, weights, freqs)
        k, v = keys_values(w, x, weights, freqs)
        q, k, v = (part.transpose(1, 2) for part in (q, k[..., c.nope :], v))
        with stage("scores"):
            scores = q @ k.transpose(-1, -2)
        (shares,) = probabilities(w, [scores])
        with stage("values"):
            heads = shares @ v
        with stage("output"):
            return linear(heads.transpose(1, 2).flatten(2), weights["wo"])

    return prefill
