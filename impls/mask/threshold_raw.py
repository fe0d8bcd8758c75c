"""Threshold: open every column that scores no less than the least selected one (MaxText #4437).

Needs neither indices nor a scatter, one elementwise pass. It opens more than `topk` columns when
scores tie at the cutoff (bf16: about 38 more of 2048 at seq 131072), and the whole row when the
cutoff is itself a masked score, until the causal mask is added again. Hence a semantics of its own.
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
