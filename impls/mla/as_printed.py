"""The lines in #684's description (`lines=after`), and the lines that they replace (`lines=before`).

The rest is `naive`'s: its queries, keys and values, and its projection of the result. The two differ only in
the softmax, which `after` computes in f32. Probabilities are then f32 but values have the model's dtype, and
torch multiplies only operands of one dtype. Heads come first in both, because the lines before, taken
literally, would attend to heads and not to tokens. There is no mask, as in the description. Source:
DeepSeek-V3 #684, description.
"""

from collections.abc import Mapping
from typing import Any, Literal

from harness import Unsupported, implementation, stage

from ._cost import keeps_heads
from ._torch import dequantise, joined_queries, keys_values
from .workload import MlaWorkload


def raises(_: MlaWorkload, options: Mapping[str, Any]) -> dict[str, str]:
    """The check tries all four dtypes, whatever the workload's own."""
    why = "probabilities are f32 but values have another dtype (#684)"
    return {} if options.get("lines") == "before" else {"dtypes": why}


@implementation(framework="torch", semantics="dense", facts=keeps_heads, fails=raises)
def as_printed(w: MlaWorkload, *, lines: Literal["after", "before"] = "after"):
    import torch
    from torch.nn.functional import linear, softmax

    if w.cached or (w.causal and w.seq > 1):
        raise Unsupported("the lines have no mask and no cache; use phase=prefill, causal=false or fast_path")

    def before(q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) * w.scale
        scores = softmax(scores, dim=-1)
        return torch.matmul(scores, v)

    def after(q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) * w.scale
        scores = softmax(scores, dim=-1, dtype=torch.float32)
        try:
            return torch.matmul(scores, v)
        except RuntimeError as error:
            if scores.dtype == v.dtype:
                raise
            raise Unsupported(
                f"in {w.dtype} torch raises for the printed lines: {error}; use lines=before"
            ) from None

    attend = before if lines == "before" else after

    def prefill(x, weights, freqs):
        weights = dequantise(w, weights)
        q = joined_queries(w, x, weights, freqs)
        k, v = keys_values(w, x, weights, freqs)
        with stage("attend"):
            heads = attend(*(part.transpose(1, 2) for part in (q, k, v)))
        with stage("output"):
            return linear(heads.transpose(1, 2).flatten(2), weights["wo"])

    return prefill
