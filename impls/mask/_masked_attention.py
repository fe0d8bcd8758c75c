"""Shared code of attention with a mask: products and softmax in at least f32, refusal without queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Unsupported

from .workload import MaskWorkload


def need_head(w: MaskWorkload) -> None:
    if not w.head_dim:
        raise Unsupported("head_dim=0: there are no queries, keys and values; set head_dim, for example 64")


def products(w: MaskWorkload) -> Callable[..., Any]:
    """`einsum` with wide sums; "highest" keeps an accelerator from rounding f32 operands."""
    import jax.numpy as jnp

    wide = jnp.float64 if w.dtype == "f64" else jnp.float32
    return partial(jnp.einsum, preferred_element_type=wide, precision="highest")


def softmax(w: MaskWorkload, logits: Any, mask: Any = 0) -> Any:
    """Weights along the last axis of the scaled logits, with the mask added."""
    import jax

    return jax.nn.softmax(logits / math.sqrt(w.head_dim) + mask, axis=-1)
