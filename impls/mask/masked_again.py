"""Masked again: a mask plus the causal mask, as attention uses it (semantics `masked_again`).

MaxText masks the indexer's scores before the selection and adds the causal mask to the mask after it
(attention_mla.py, #4261 and #4437). Without the second addition the implementations disagree: a row that sees
fewer than `topk` columns selects hidden ones, and threshold_raw opens the whole row. Option `of` names the
implementation that makes the mask. A hidden column that was not selected is closed twice, −inf in f32 and
bf16. threshold_raw still opens more than `topk` columns if visible scores tie at the cutoff, which the
contract counts.
"""

from typing import Literal

from harness import Unsupported, implementation

from .broadcast import broadcast
from .reference import closed_value, last_visible
from .scatter import scatter
from .scatter_flat import scatter_flat
from .threshold_exactk import threshold_exactk
from .threshold_raw import threshold_raw
from .workload import MaskWorkload

INDEXED = {"broadcast": broadcast, "scatter": scatter, "scatter_flat": scatter_flat}
SCORED = {"threshold_exactk": threshold_exactk, "threshold_raw": threshold_raw}


@implementation(framework="jax", semantics="masked_again")
def masked_again(
    w: MaskWorkload,
    *,
    of: Literal["broadcast", "scatter", "scatter_flat", "threshold_exactk", "threshold_raw"] = "scatter",
):
    import jax.numpy as jnp

    if not w.causal:
        raise Unsupported("without causal no column is hidden; set causal=true")
    value = closed_value(w.dtype)
    make = {**INDEXED, **SCORED}[of](w)

    def again(mask):
        columns = jnp.arange(w.seq, dtype=jnp.int32)
        seen = columns <= last_visible(w)[:, None]
        return mask + jnp.where(seen, jnp.zeros((), value.dtype), value)

    def from_indices(topk_indices):
        return again(make(topk_indices))

    def from_scores(scores, topk_values):
        return again(make(scores, topk_values))

    return from_indices if of in INDEXED else from_scores
