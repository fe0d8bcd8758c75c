"""A family with a backward, weights, complex and integer inputs, one unused input, and two results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness import Array, Cost, Family, Semantics, axis, implementation, tolerance

OUTCOMES = {
    "in_torch": ("ok", ""),
    "in_jax": ("ok", ""),
    "cuts_in_torch": ("incorrect", "gradient of weights.up"),
    "cuts_in_jax": ("incorrect", "gradient of weights.up"),
    "turns_round": ("crashed", "the floating parts of the result have the shapes"),
    "forgets": ("crashed", "depends on no floating input"),
}


@dataclass(frozen=True)
class Blend:
    seq: int = axis()
    dtype: str = axis("f32", choices=("f32", "f64", "bf16"))


def shapes(w: Blend) -> Mapping[str, Any]:
    return {
        "steps": Array((w.seq,), "i32"),
        "x": Array((2, w.seq, 4), w.dtype),
        "weights": {"up": Array((4, 8), w.dtype), "down": Array((8, 3), w.dtype)},
        "phase": Array((w.seq,), "c64"),
        "idle": Array((), w.dtype),
    }


def inputs(w: Blend, rng: Any) -> Mapping[str, Any]:
    import numpy as np

    from harness import cast

    def normal(*shape: int) -> Any:
        return cast(np.asarray(rng.standard_normal(shape)), w.dtype)

    return {
        "steps": np.arange(w.seq, dtype=np.int32) % 3,
        "x": normal(2, w.seq, 4),
        "weights": {"up": normal(4, 8), "down": normal(8, 3)},
        "phase": np.exp(1j * np.arange(w.seq)).astype(np.complex64),
        "idle": normal(),
    }


def reference(w: Blend, rows: Any) -> Any:
    """(blend [2, rows, 3], its sign [2, rows, 3] as integers)."""
    import torch

    def blend(steps, x, weights, phase):
        scale = (phase.real * (1 + steps))[:, None]
        if rows is not None:
            x, scale = x[:, rows], scale[rows]
        y = torch.tanh((x * scale) @ weights["up"]) @ weights["down"]
        return y, torch.sign(y.detach()).int()

    return blend


BOUND = {"f32": 1e-5, "f64": 1e-12, "bf16": 3e-2}
FAMILY = Family(
    name="blend",
    question="Do gradients arrive?",
    workload=Blend,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "plain": Semantics(
            "plain",
            reference,
            tolerance(BOUND),
            gradient=tolerance(BOUND, cancelling=True),
            framework="torch",
        )
    },
    cost=lambda w: Cost(flops=2.0 * 2 * w.seq * (4 * 8 + 8 * 3)),
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: w.seq,
    tile=lambda w: 16,
)


def _torch(cut=lambda t: t, end=lambda y: y):
    import torch

    def blend(steps, x, weights, phase, idle):
        scale = (phase.real.to(x.dtype) * (1 + steps))[:, None]
        y = torch.tanh((x * scale) @ cut(weights["up"])) @ weights["down"]
        return end(y), torch.sign(y.detach()).int()

    return blend


@implementation(framework="torch", semantics="plain")
def in_torch(w: Blend):
    return _torch()


@implementation(framework="torch", semantics="plain")
def cuts_in_torch(w: Blend):
    return _torch(cut=lambda t: t.detach())


@implementation(framework="torch", semantics="plain")
def turns_round(w: Blend):
    return _torch(end=lambda y: y.transpose(1, 2))


@implementation(framework="torch", semantics="plain")
def forgets(w: Blend):
    return _torch(end=lambda y: y.detach())


def _jax(cut=lambda t: t):
    import jax.numpy as jnp

    def blend(idle, phase, weights, x, steps):
        scale = (phase.real.astype(x.dtype) * (1 + steps))[:, None]
        y = jnp.tanh((x * scale) @ cut(weights["up"])) @ weights["down"]
        return y, jnp.sign(y).astype(jnp.int32)

    return blend


@implementation(framework="jax", semantics="plain")
def in_jax(w: Blend):
    return _jax()


@implementation(framework="jax", semantics="plain")
def cuts_in_jax(w: Blend):
    from jax.lax import stop_gradient

    return _jax(cut=stop_gradient)
