"""Shared code of the jax implementations; dtypes as in torch: rotation and softmax in f32 (f64 for f64).

Products request the highest precision, as torch's do by default. Without it f32 inputs are rounded to fewer
bits on a TPU and on some GPUs.
"""

from __future__ import annotations

from typing import Any

from harness import Unsupported, stage

from ._inputs import BLOCK
from .workload import MlaWorkload

EPSILON = 1e-6
NO_CACHE_BACKWARD = "phase=decode and phase=chunk have no backward; use phase=prefill or mode fwd"


def dequantise(w: MlaWorkload, weights: Any) -> Any:
    """Weights in the model's dtype: quantised numbers times their blocks' scales."""
    import jax
    import jax.numpy as jnp

    if w.weights == "plain":
        return weights
    with stage("dequantise"):
        plain_weights, dtype = dict(weights), weights["kv_norm"].dtype
        for name in [name for name in weights if name.endswith("_scale")]:
            scales = forward_only(
                plain_weights.pop(name), "weights=fp8_block has no backward; use weights=plain or mode fwd"
            )
            words = weights[name.removesuffix("_scale")]
            numbers = jax.lax.bitcast_convert_type(words, jnp.float8_e4m3fn).reshape(len(words), -1)
            spread = scales.repeat(BLOCK, 0).repeat(BLOCK, 1)[: numbers.shape[0], : numbers.shape[1]]
            values = numbers.astype(_wide(weights["kv_norm"])) * spread
            plain_weights[name.removesuffix("_scale")] = values.astype(dtype)
        return plain_weights


def product(form: str, *arrays: Any) -> Any:
    """An einsum over arrays of one dtype, which the result also has."""
    import jax.numpy as jnp

    return jnp.einsum(form, *arrays, precision="highest")


def linear(x: Any, weight: Any) -> Any:
    return product("...i,oi->...o", x, weight)


def queries(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """The parts without and with position, [b, s, heads, nope] and [b, s, heads, rope]."""
    c = w.widths
    with stage("project"):
        if c.q_lora:
            q = linear(_norm(linear(x, weights["wq_a"]), weights["q_norm"]), weights["wq_b"])
        else:
            q = linear(x, weights["wq"])
    q = q.reshape(*q.shape[:2], c.heads, c.nope + c.rope)
    return q[..., : c.nope], _rotate(q[..., c.nope :], freqs[:, None])


def latents(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """What a cache stores of new tokens: normalised latents [b, s, kv_lora], rotated keys [b, s, rope]."""
    width = w.widths.kv_lora
    with stage("project"):
        both = linear(x, weights["wkv_a"])
        ckv = _norm(both[..., :width], weights["kv_norm"])
    return ckv, _rotate(both[..., width:], freqs)


def keys_values(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """Every head's keys [b, s, heads, nope + rope] and values [b, s, heads, v]."""
    import jax.numpy as jnp

    c = w.widths
    ckv, kpe = latents(w, x, weights, freqs)
    with stage("expand"):
        made = linear(ckv, weights["wkv_b"]).reshape(*ckv.shape[:2], c.heads, c.nope + c.v)
        shared = jnp.broadcast_to(kpe[:, :, None], (*ckv.shape[:2], c.heads, c.rope))
        return jnp.concatenate([made[..., : c.nope], shared], -1), made[..., c.nope :]


def probabilities(w: MlaWorkload, scores: list[Any]) -> list[Any]:
    """Softmax over the keys of all parts [b, s, heads, keys] together; returns the parts, in their dtype."""
    import jax
    import jax.numpy as jnp

    with stage("softmax"):
        joined = jnp.concatenate(scores, -1) if len(scores) > 1 else scores[0]
        wide = joined.astype(_wide(joined)) * w.scale
        if w.causal and w.phase != "decode":
            seen = jnp.tri(w.new, w.cached + w.new, w.cached, dtype=bool)[:, None]
            wide = jnp.where(seen, wide, -jnp.inf)
        shares = jax.nn.softmax(wide, -1).astype(joined.dtype)
        return jnp.split(shares, [scores[0].shape[-1]], -1) if len(scores) > 1 else [shares]


def forward_only(x: Any, refusal: str = NO_CACHE_BACKWARD) -> Any:
    """`x` itself; in a backward raise :class:`Unsupported`, as the torch variants do."""
    import jax

    @jax.custom_jvp
    def same(x: Any) -> Any:
        return x

    @same.defjvp
    def _refuse(*_: Any) -> Any:
        raise Unsupported(refusal)

    return same(x)


def _norm(x: Any, weight: Any) -> Any:
    """RMS norm; the mean is taken in f32."""
    import jax.numpy as jnp

    wide = x.astype(_wide(x))
    mean = jnp.mean(jnp.square(wide), -1, keepdims=True)
    return (wide / jnp.sqrt(mean + EPSILON)).astype(x.dtype) * weight


def _rotate(x: Any, freqs: Any) -> Any:
    """Rotate neighbouring pairs of the last axis: (x0 cos − x1 sin, x0 sin + x1 cos)."""
    import jax.numpy as jnp

    with stage("rotate"):
        wide = x.astype(_wide(x))
        even, odd = wide[..., ::2], wide[..., 1::2]
        pairs = [even * freqs.real - odd * freqs.imag, even * freqs.imag + odd * freqs.real]
        return jnp.stack(pairs, -1).reshape(x.shape).astype(x.dtype)


def _wide(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.promote_types(x.dtype, jnp.float32)
