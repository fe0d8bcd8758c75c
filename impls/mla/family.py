"""Multi-head latent attention (MLA), as in DeepSeek-V3's inference code (#684 rewrites it).

A token is kept as one latent of `kv_lora` values and one rotated key part that all heads share.
Either every head's keys and values are made from the latents (naive), or the projections move to
the query and the result, and the latents themselves are attended (absorb). Both are one semantics:
which of them is faster turns with the phase and the length.

The defaults are upstream's module defaults: dimension 2048 and 16 heads. Positions are rotated at
the trained frequencies; of the context extension of upstream's checkpoints only the larger scale of
the scores is here, as `mscale`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from harness import Array, Cost, Family, Semantics, axis

from ._bounds import FORWARD, GRADIENT, held
from ._checks import CHECKS
from ._config import CONFIGS, Config
from ._inputs import inputs, shapes, weight_shapes
from .reference import dense

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
EXTENSION = 40  # how many times longer upstream's extended context is


@dataclass(frozen=True)
class MlaWorkload:
    """In `prefill` attention over `seq` new tokens; in `decode` one new token after `seq` cached ones.

    `causal` closes later tokens to a prefill's queries; the one token of a decode is the last anyway.
    `q_lora` gives queries a latent of their own, or none, whatever the configuration says; `nope`,
    `rope` and `v` above 0 replace its widths per head. `mscale` multiplies scores by m², with
    m = 0.1·ln 40 + 1 for a context extended 40 times. Tokens are `input_scale` times normal ones.
    Under `weights=fp8_block` linear weights are float8_e4m3 with a f32 scale per 128 × 128 block,
    four to an int32; they are for inference and have no gradient.
    """

    batch: int = axis(1)
    seq: int = axis()
    phase: str = axis("prefill", choices=("prefill", "decode"))
    config: str = axis("small", choices=tuple(CONFIGS))
    causal: bool = axis(True)
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))
    q_lora: str = axis("config", choices=("config", "on", "off"), later=True)
    mscale: bool = axis(False, later=True)
    nope: int = axis(0, minimum=0, later=True)
    rope: int = axis(0, minimum=0, later=True)
    v: int = axis(0, minimum=0, later=True)
    input_scale: float = axis(1.0, later=True)
    weights: str = axis("plain", choices=("plain", "fp8_block"), later=True)

    @property
    def widths(self) -> Config:
        own = CONFIGS[self.config]
        lora = {"config": own.q_lora, "on": own.q_lora or CONFIGS["v3"].q_lora, "off": 0}[self.q_lora]
        heads = {"nope": self.nope or own.nope, "rope": self.rope or own.rope, "v": self.v or own.v}
        return replace(own, q_lora=lora, **heads)

    @property
    def new(self) -> int:
        """Tokens that are not cached yet."""
        return 1 if self.phase == "decode" else self.seq

    @property
    def scale(self) -> float:
        """What scores are multiplied with: 1/√(nope + rope), and m² where the context is extended."""
        m = 0.1 * math.log(EXTENSION) + 1 if self.mscale else 1.0
        return (self.widths.nope + self.widths.rope) ** -0.5 * m**2


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


def keeps_heads(w: MlaWorkload, *_: Any) -> dict[str, int]:
    """A fact: a cache of every head's keys and values, which a prefill of this way would fill."""
    c = w.widths
    return {"cache_bytes_per_token": c.heads * (c.nope + c.rope + c.v) * BYTES[w.dtype]}


def keeps_latents(w: MlaWorkload, *_: Any) -> dict[str, int]:
    """A fact: a cache of latents and shared keys, which a prefill of this way would fill."""
    return {"cache_bytes_per_token": (w.widths.kv_lora + w.widths.rope) * BYTES[w.dtype]}


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
            held(FORWARD),
            gradient=held(GRADIENT, cancelling=True),
            framework="torch",
            sentence="softmax attention over keys and values made from the latents",
        )
    },
    cost=cost,
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: w.new,
    checks=CHECKS,
)
