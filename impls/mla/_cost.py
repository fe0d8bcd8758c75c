"""Minimum work of a forward, and the cache size per token."""

from __future__ import annotations

import math
from typing import Any

from harness import Array, Cost

from ._inputs import shapes, weight_shapes
from .workload import MlaWorkload

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}


def cost(w: MlaWorkload) -> Cost:
    """Minimum FLOPs and minimum bytes of a forward; one implementation need not reach both.

    FLOPs are those of keys and values computed per head, for new tokens only. Bytes: a cached token is read
    as its latent, weights are read once, the result is written once.
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
    """Fact: size of a cache of every head's keys and values, as a prefill by this method would fill it."""
    c = w.widths
    return {"cache_bytes_per_token": c.heads * (c.nope + c.rope + c.v) * BYTES[w.dtype]}


def keeps_latents(w: MlaWorkload, *_: Any) -> dict[str, int]:
    """Fact: size of a cache of latents and shared keys, as a prefill by this method would fill it."""
    return {"cache_bytes_per_token": (w.widths.kv_lora + w.widths.rope) * BYTES[w.dtype]}
