"""Threshold: open every column whose score is at least the smallest selected score (MaxText #4437).

Needs neither indices nor a scatter, only one elementwise pass. It opens more than `topk` columns if scores
tie at the cutoff (bf16: about 38 more of 2048 at seq 131072). It opens the whole row if the cutoff is itself
a masked score, until the causal mask is added again. Therefore it has its own semantics.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload


@implementation(framework="jax", semantics="threshold")
def threshold_raw(w: MaskWorkload):
    import jax.numpy as jnp

    value = closed_value(w.dtype)

    def mask(scores, topk_values):
        keep = scores >= topk_values[..., -1:]
        return jnp.where(keep, jnp.zeros((), value.dtype), value)

    return mask
