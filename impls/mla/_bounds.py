"""Error bounds of the contracts by dtype, derived from rounding.

Compared with f64, upstream's own bf16 code is off by 0.0057 to 0.0099 relative RMS over its configurations.
Twice that, 2e-2 = 5.12 unit roundoffs u, also leaves room for its largest single errors; f16 gets the same
number of u. In f32 the sums dominate. Their rounding errors grow like √n u with n up to 16384 products (the
result's projection in v3), over five projections in a row: √5 √n u = 1.7e-5. In f64 a bound near 1e-10 would
detect a stage computed in f32. A gradient has a forward and a backward pass, each with a forward's error, and
is allowed twice as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Contract, Evidence, Judgement, tolerance

from .workload import PEAK, MlaWorkload

FORWARD = {"f64": 1e-10, "f32": 2e-5, "bf16": 5.12 * 2**-8, "f16": 5.12 * 2**-11}
GRADIENT = {dtype: 2 * bound for dtype, bound in FORWARD.items()}


def growth(w: MlaWorkload, scale: float) -> float:
    """Factor on a bound for tokens that are `scale` times larger.

    The error of a rounded score is its size times u, and so is the relative error of its weight. The rotated
    part of keys grows with the token, and so do queries unless a norm is applied first; a normalised latent
    does not grow. Peaked queries are larger, too. The bound is not smaller for smaller tokens: everything
    except scores is rounded as before.
    """
    size = PEAK if w.distribution == "peaked" else 1
    return max(1.0, size * (scale if w.widths.q_lora else scale**2))


def at_size_of_tokens(bounds: Mapping[str, float], *, cancelling: bool = False) -> Contract:
    """Within the dtype's bound, at the size of the workload's tokens."""

    def judge(evidence: Evidence) -> Judgement:
        w = evidence.workload
        bound = {w.dtype: bounds[w.dtype] * growth(w, w.input_scale)}
        return tolerance(bound, cancelling=cancelling).judge(evidence)

    allowed = tolerance(bounds, cancelling=cancelling).bound
    return Contract("tolerance", judge, f"{allowed}; more for tokens larger than by default")


def near(w: MlaWorkload, got: Any, want: Any, factor: float = 1.0) -> Judgement:
    """Whether a forward's answer agrees with another within `factor` times the dtype's bound."""
    return tolerance({w.dtype: factor * FORWARD[w.dtype]}).judge(Evidence(w, {}, got, want))
