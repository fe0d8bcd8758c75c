"""The least work of a forward, and what a cache takes per token."""

from __future__ import annotations

import math
from typing import Any

from harness import Array, Cost

from ._inputs import shapes, weight_shapes
from .workload import MlaWorkload

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}


def cost(w: MlaWorkload) -> Cost:
    """The forward's least FLOPs and least bytes; no one way need reach both.

    FLOPs are those of keys and values made per head, for new tokens only. Bytes: what stands for a
    token is read as its latent, weights once, the result written once.
    """
    c, tokens = w.widths, w.batch * w.new
    projections = sum(math.prod(shape) for shape in weight_shapes(c).values() if len(shape) > 1)
    of_prefill = (w.seq + 1) / 2 if w.causal else w.seq
    keys = w.seq + (w.new + 1) / 2 if w.cached else of_prefill
    attention = c.heads * (c.nope + c.rope + c.v) * keys
    arrays = shapes(w)
    twice = {"cache_k", "cache_v", "pages_ckv", "pages_kpe", "page_table"}  # other forms of the same cache
    read = [name for name in arrays if name not in twice]
    moved = sum(_bytes(arrays[name]) for name in read) + tokens * c.dim * BYTES[w.dtype]
    return Cost(flops=2.0 * tokens * (projections + attention), bytes=moved)


def _bytes(array: Any) -> int:
    return array.nbytes if isinstance(array, Array) else sum(_bytes(part) for part in array.values())


def keeps_heads(w: MlaWorkload, *_: Any) -> dict[str, int]:
    """A fact: a cache of every head's keys and values, which a prefill of this way would fill."""
    c = w.widths
    return {"cache_bytes_per_token": c.heads * (c.nope + c.rope + c.v) * BYTES[w.dtype]}


def keeps_latents(w: MlaWorkload, *_: Any) -> dict[str, int]:
    """A fact: a cache of latents and shared keys, which a prefill of this way would fill."""
    return {"cache_bytes_per_token": (w.widths.kv_lora + w.widths.rope) * BYTES[w.dtype]}
