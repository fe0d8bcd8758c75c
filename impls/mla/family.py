"""Multi-head latent attention (MLA), as in DeepSeek-V3's inference code (#684 rewrites it).

A token is kept as one latent of `kv_lora` values and one rotated key part that all heads share.
Either every head's keys and values are made from the latents (naive), or the projections move to
the query and the result, and the latents themselves are attended (absorb). Both are one semantics:
which of them is faster turns with the phase and the length.

The defaults are upstream's module defaults: dimension 2048 and 16 heads. Positions are rotated at
the trained frequencies; the context extension of upstream's checkpoints is not part of it.

Tolerances: against f64, upstream's own bf16 code is off by 0.0057 to 0.0099 relative RMS over its
configurations. Twice that, 2e-2 = 5.12 unit roundoffs u, leaves its largest single errors room too;
f16 gets as many. In f32 sums dominate, whose rounding errors grow like √n u with n up to 16384
products (the result's projection in v3), over five projections in a row: √5 √n u = 1.7e-5. In f64
anything near 1e-10 would betray a stage computed in f32. A gradient is made of a way forward and a
way back, each with a forward's error, and is allowed twice as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness import Array, Cost, Family, Semantics, Shapes, axis, cast, tolerance

from .reference import dense

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
FORWARD = {"f64": 1e-10, "f32": 2e-5, "bf16": 5.12 * 2**-8, "f16": 5.12 * 2**-11}
GRADIENT = {dtype: 2 * bound for dtype, bound in FORWARD.items()}

ROPE_BASE = 10000.0


@dataclass(frozen=True)
class Config:
    """Widths of a model: `dim` of a token, and per head `nope` + `rope` of a key and `v` of a value."""

    dim: int
    heads: int
    q_lora: int
    kv_lora: int
    nope: int = 128
    rope: int = 64
    v: int = 128


CONFIGS = {"small": Config(2048, 16, 0, 512), "v3": Config(7168, 128, 1536, 512)}


@dataclass(frozen=True)
class MlaWorkload:
    """In `prefill` attention over `seq` new tokens; in `decode` one new token after `seq` cached ones.

    `causal` closes later tokens to a prefill's queries; the one token of a decode is the last anyway.
    """

    batch: int = axis(1)
    seq: int = axis()
    phase: str = axis("prefill", choices=("prefill", "decode"))
    config: str = axis("small", choices=tuple(CONFIGS))
    causal: bool = axis(True)
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))

    @property
    def widths(self) -> Config:
        return CONFIGS[self.config]

    @property
    def new(self) -> int:
        """Tokens that are not cached yet."""
        return 1 if self.phase == "decode" else self.seq

    @property
    def scale(self) -> float:
        """What scores are multiplied with: 1/√(nope + rope)."""
        return (self.widths.nope + self.widths.rope) ** -0.5


def weight_shapes(c: Config) -> dict[str, tuple[int, ...]]:
    """Linear weights as [out, in] and norm weights, under upstream's names."""
    query = c.heads * (c.nope + c.rope)
    if c.q_lora:
        ways: dict[str, tuple[int, ...]] = {
            "wq_a": (c.q_lora, c.dim),
            "q_norm": (c.q_lora,),
            "wq_b": (query, c.q_lora),
        }
    else:
        ways = {"wq": (query, c.dim)}
    return {
        **ways,
        "wkv_a": (c.kv_lora + c.rope, c.dim),
        "kv_norm": (c.kv_lora,),
        "wkv_b": (c.heads * (c.nope + c.v), c.kv_lora),
        "wo": (c.dim, c.heads * c.v),
    }


def shapes(w: MlaWorkload) -> Shapes:
    c = w.widths
    arrays: dict[str, Any] = {
        "x": Array((w.batch, w.new, c.dim), w.dtype),
        "weights": {name: Array(shape, w.dtype) for name, shape in weight_shapes(c).items()},
        "freqs": Array((w.new, c.rope // 2), "c64"),
    }
    if w.phase == "decode":
        cached = (w.batch, w.seq)
        arrays["cache_k"] = Array((*cached, c.heads, c.nope + c.rope), w.dtype)
        arrays["cache_v"] = Array((*cached, c.heads, c.v), w.dtype)
        arrays["cache_ckv"] = Array((*cached, c.kv_lora), w.dtype)
        arrays["cache_kpe"] = Array((*cached, c.rope), w.dtype)
    return arrays


def inputs(w: MlaWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal tokens; weights scaled by 1/√in, so that every activation stays near 1.

    Norm weights are near 1 and, like all of upstream's, in the model's dtype. A decode's cache holds
    one content twice: normalised latents and rotated keys as drawn, and the keys and values that
    `wkv_b` makes of the rounded latents, rounded again.
    """
    import numpy as np

    drawn = np.float64 if w.dtype == "f64" else np.float32

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=drawn)

    def weight(*shape: int) -> Any:
        return normal(*shape) / math.sqrt(shape[1]) if len(shape) > 1 else 1 + 0.1 * normal(*shape)

    x = cast(normal(w.batch, w.new, w.widths.dim), w.dtype)
    weights = {name: cast(weight(*shape), w.dtype) for name, shape in weight_shapes(w.widths).items()}
    arrays = {"x": x, "weights": weights, "freqs": frequencies(w)}
    return {**arrays, **_cache(w, weights, normal)} if w.phase == "decode" else arrays


def _cache(w: MlaWorkload, weights: Mapping[str, Any], normal: Any) -> dict[str, Any]:
    import numpy as np

    c = w.widths
    latents = normal(w.batch, w.seq, c.kv_lora)
    latents /= np.sqrt(np.mean(latents**2, -1, keepdims=True))
    ckv = cast(latents * weights["kv_norm"].astype(latents.dtype), w.dtype)
    kpe = cast(normal(w.batch, w.seq, c.rope), w.dtype)
    made = ckv.astype(latents.dtype) @ weights["wkv_b"].astype(latents.dtype).T
    made = cast(made, w.dtype).reshape(w.batch, w.seq, c.heads, c.nope + c.v)
    shared = np.broadcast_to(kpe[:, :, None], (w.batch, w.seq, c.heads, c.rope))
    k = np.concatenate([made[..., : c.nope], shared], -1)
    return {"cache_k": k, "cache_v": made[..., c.nope :].copy(), "cache_ckv": ckv, "cache_kpe": kpe}


def frequencies(w: MlaWorkload) -> Any:
    """exp(i·position·base^(−2j/rope)), complex64 [new tokens, rope/2]."""
    import numpy as np

    speed = ROPE_BASE ** -(np.arange(0, w.widths.rope, 2) / w.widths.rope)
    positions = np.arange(w.seq, w.seq + 1) if w.phase == "decode" else np.arange(w.seq)
    return np.exp(1j * np.outer(positions, speed)).astype(np.complex64)


def cost(w: MlaWorkload) -> Cost:
    """The forward's least FLOPs and least bytes; no one way need reach both.

    FLOPs are those of keys and values made per head, for new tokens only. Bytes: what stands for a
    token is read as its latent, weights once, the result written once.
    """
    c, tokens = w.widths, w.batch * w.new
    projections = sum(math.prod(shape) for shape in weight_shapes(c).values() if len(shape) > 1)
    keys = w.seq + 1 if w.phase == "decode" else (w.seq + 1) / 2 if w.causal else w.seq
    attention = c.heads * (c.nope + c.rope + c.v) * keys
    arrays = shapes(w)
    read = [name for name in arrays if name not in {"cache_k", "cache_v"}]
    moved = sum(_bytes(arrays[name]) for name in read) + tokens * c.dim * BYTES[w.dtype]
    return Cost(flops=2.0 * tokens * (projections + attention), bytes=moved)


def _bytes(array: Any) -> int:
    return array.nbytes if isinstance(array, Array) else sum(_bytes(part) for part in array.values())


FAMILY = Family(
    name="mla",
    question="Up to which length is it better to make every head's keys than to attend the latents?",
    workload=MlaWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "dense": Semantics(
            "dense",
            dense,
            tolerance(FORWARD),
            gradient=tolerance(GRADIENT, cancelling=True),
            framework="torch",
            sentence="softmax attention over keys and values made from the latents",
        )
    },
    cost=cost,
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: w.new,
)
