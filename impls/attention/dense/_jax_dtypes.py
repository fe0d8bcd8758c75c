"""The dtypes that `jax.nn.dot_product_attention` does not support."""

from __future__ import annotations

from harness import Unsupported

from ..workload import AttentionWorkload


def refuse_dtype(w: AttentionWorkload, instead: str) -> None:
    """Raise :class:`Unsupported` in f64, and in f16 on a CPU."""
    import jax.numpy as jnp

    if w.dtype == "f64":
        raise Unsupported(f"dtype=f64: jax computes these scores in f32; use dtype=f32 or {instead}")
    (device,) = jnp.zeros(()).devices()
    if w.dtype == "f16" and device.platform == "cpu":
        raise Unsupported(f"dtype=f16: XLA has no such product on the CPU; use dtype=bf16 or {instead}")
