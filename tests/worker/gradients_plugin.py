"""A family with a backward, weights and integer inputs, and two results."""

from dataclasses import dataclass

from harness import Array, Family, Semantics, axis, implementation, tolerance

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
    dtype: str = axis("f32", choices=("f32",))


def shapes(w):
    weights = {"up": Array((4, 8), "f32"), "down": Array((8, 3), "f32")}
    return {"steps": Array((w.seq,), "i32"), "x": Array((2, w.seq, 4), "f32"), "weights": weights}


def inputs(w, rng):
    import numpy as np

    x, up, down = (rng.standard_normal(shape, np.float32) for shape in ((2, w.seq, 4), (4, 8), (8, 3)))
    return {"steps": np.arange(w.seq, dtype=np.int32) % 3, "x": x, "weights": {"up": up, "down": down}}


def reference(w, rows):
    """(blend [2, rows, 3], its sign [2, rows, 3] as integers)."""
    blend = _torch()
    if rows is None:
        return blend
    return lambda steps, x, weights: blend(steps[rows], x[:, rows], weights)


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
            tolerance({"f32": 1e-5}),
            gradient=tolerance({"f32": 1e-5}, cancelling=True),
            framework="torch",
        )
    },
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: w.seq,
)


def _torch(cut=lambda t: t, end=lambda y: y):
    import torch

    def blend(steps, x, weights):
        y = torch.tanh((x * (1 + steps)[:, None]) @ cut(weights["up"])) @ weights["down"]
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

    def blend(weights, x, steps):
        y = jnp.tanh((x * (1 + steps)[:, None]) @ cut(weights["up"])) @ weights["down"]
        return y, jnp.sign(y).astype(jnp.int32)

    return blend


@implementation(framework="jax", semantics="plain")
def in_jax(w: Blend):
    return _jax()


@implementation(framework="jax", semantics="plain")
def cuts_in_jax(w: Blend):
    from jax.lax import stop_gradient

    return _jax(cut=stop_gradient)
