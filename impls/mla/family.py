"""Multi-head latent attention (MLA), as in DeepSeek-V3's inference code (#684 rewrites it).

A token is stored as one latent of `kv_lora` values and one rotated key part that all heads share. Either
every head's keys and values are computed from the latents (naive), or the projections move to the query and
the result, and attention reads the latents directly (absorb). Both have the same semantics. Which of them is
faster depends on the phase and the length.

The defaults are upstream's module defaults: dimension 2048 and 16 heads. Positions are rotated at the trained
frequencies. Upstream's checkpoints extend the context: `mscale` applies their larger scale of the scores, and
`rope_scaling` their frequencies.
"""

from __future__ import annotations

from harness import Family, Semantics, Unsupported

from ._bounds import FORWARD, GRADIENT, at_size_of_tokens
from ._checks import CHECKS
from ._cost import BYTES, cost, keeps_heads, keeps_latents
from ._inputs import complete, inputs, shapes, weight_shapes
from ._model import of_model
from .reference import dense
from .workload import CONFIGS, Config, MlaWorkload

__all__ = [
    "BYTES",
    "CONFIGS",
    "FAMILY",
    "Config",
    "MlaWorkload",
    "cost",
    "inputs",
    "keeps_heads",
    "keeps_latents",
    "shapes",
    "weight_shapes",
]


def _one_step(w: MlaWorkload) -> None:
    if w.steps > 1:
        raise Unsupported(f"steps={w.steps}: this decodes one token; use steps=1, or absorb_steps")


def _decode(w: MlaWorkload) -> None:
    if w.phase != "decode":
        raise Unsupported(f"phase={w.phase}: only a decode's cache grows by token; use phase=decode")


FAMILY = Family(
    name="mla",
    question="Up to which length is computing every head's keys faster than attending to the latents?",
    workload=MlaWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "dense": Semantics(
            "dense",
            dense,
            at_size_of_tokens(FORWARD),
            gradient=at_size_of_tokens(GRADIENT, cancelling=True),
            framework="torch",
            sentence="softmax attention over keys and values computed from the latents",
            layout="[B, T, D]",
            refuse=_one_step,
        ),
        "steps": Semantics(
            "steps",
            dense,
            at_size_of_tokens(FORWARD),
            framework="torch",
            sentence="decode several tokens, each attending to the cache and the tokens before it",
            layout="[B, T, D]",
            refuse=_decode,
        ),
    },
    cost=cost,
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: w.new,
    checks=CHECKS,
    stages=(
        "dequantise",
        "project",
        "rotate",
        "expand",
        "absorb",
        "mask",
        "scores",
        "softmax",
        "values",
        "attend",
        "output",
        "cache",
    ),
    of_model=of_model,
    complete=complete,
)
