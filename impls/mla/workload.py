"""Workload of multi-head latent attention, and the widths of the models."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from harness import Workload, axis

EXTENSION = 40  # how many times longer upstream's extended context is


DISTRIBUTIONS = ("iid", "clustered", "peaked", "zeros")
# Standard deviation of peaked scores. A softmax over n normal scores is peaked from √(2 ln n) on, 4.7 at
# 64Ki.
PEAK = 5


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
class MlaWorkload(Workload):
    """`prefill`: attention over `seq` new tokens. `decode`: one new token after `seq` cached ones.

    A decode of `steps` tokens takes them one after the other, and each joins the cache of the next. A `chunk`
    takes `queries` new tokens after `seq` cached ones at once.

    `causal` hides later tokens from a prefill's queries; the one token of a decode is the last anyway.
    `q_lora` gives queries their own latent, or none, whatever the configuration says. `nope`, `rope`, `v`,
    `dim`, `heads` and the two ranks, if above 0, replace the configuration's widths. `mscale` multiplies
    scores by m², with m = 0.1·ln 40 + 1 for a context extended 40 times; `rope_scaling=yarn` rotates
    positions at that context's frequencies. Tokens are `input_scale` times normal ones. With
    `weights=fp8_block`, linear weights are float8_e4m3 with an f32 scale per 128 × 128 block, four to an
    int32; they are for inference and have no gradient. With a `page`, a decode's latents are also stored in
    pages, in a random order that a table lists per sequence.
    """

    batch: int = axis(1)  # independent sequences
    seq: int = axis()  # tokens of a prefill, or cached before a decode or chunk
    phase: str = axis("prefill", choices=("prefill", "chunk", "decode"))  # all tokens are new, some, or one
    config: str = axis("small", choices=tuple(CONFIGS))  # widths of a model
    causal: bool = axis(True)  # hide later tokens
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))  # of tokens, weights and results
    q_lora: str = axis(
        "config", choices=("config", "on", "off"), later=True
    )  # width of the queries' latent: the configuration's, v3's, or none
    mscale: bool = axis(False, later=True)  # multiply scores by m² for an extended context
    nope: int = axis(0, minimum=0, later=True)  # elements per head without position; 0: the configuration's
    rope: int = axis(
        0, minimum=0, later=True
    )  # elements per head with rotary position; 0: the configuration's
    v: int = axis(0, minimum=0, later=True)  # elements of a value per head; 0: the configuration's
    input_scale: float = axis(1.0, later=True)  # factor on the tokens, without a unit
    weights: str = axis(
        "plain", choices=("plain", "fp8_block"), later=True
    )  # as `dtype`, or 8 bits with block scales
    rope_scaling: str = axis("none", choices=("none", "yarn"), later=True)  # of rotary frequencies
    steps: int = axis(1, later=True)  # tokens of a decode
    dim: int = axis(0, minimum=0, later=True)  # elements of a token; 0: the configuration's
    heads: int = axis(0, minimum=0, later=True)  # of queries, keys and values; 0: the configuration's
    q_lora_rank: int = axis(0, minimum=0, later=True)  # width of the queries' latent; 0: as `q_lora` says
    kv_lora_rank: int = axis(0, minimum=0, later=True)  # width of the latent; 0: the configuration's
    page: int = axis(0, minimum=0, later=True)  # tokens per page of the paged cache; 0: no paged cache
    queries: int = axis(1024, later=True)  # new tokens of a chunk
    distribution: str = axis(
        "iid", choices=DISTRIBUTIONS, captured=True, later=True
    )  # how tokens and queries are drawn

    @property
    def widths(self) -> Config:
        config = CONFIGS[self.config]
        lora = {"config": config.q_lora, "on": config.q_lora or CONFIGS["v3"].q_lora, "off": 0}[self.q_lora]
        given = {name: getattr(self, name) for name in ("dim", "heads", "nope", "rope", "v")}
        given |= {"q_lora": self.q_lora_rank or lora, "kv_lora": self.kv_lora_rank}
        return replace(config, **{name: width for name, width in given.items() if width or name == "q_lora"})

    @property
    def new(self) -> int:
        """Number of tokens that are not cached yet."""
        return {"prefill": self.seq, "chunk": self.queries}.get(self.phase, self.steps)

    @property
    def cached(self) -> int:
        """Number of cached tokens."""
        return 0 if self.phase == "prefill" else self.seq

    @property
    def pages(self) -> int:
        """Pages of one sequence's cache; the last one is partly filled."""
        return -(-self.seq // self.page) if self.page else 0

    @property
    def scale(self) -> float:
        """Factor on scores: 1/√(nope + rope), times m² if the context is extended."""
        m = 0.1 * math.log(EXTENSION) + 1 if self.mscale else 1.0
        return (self.widths.nope + self.widths.rope) ** -0.5 * m**2
