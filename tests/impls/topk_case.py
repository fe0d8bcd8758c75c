"""Shared code of the selection tests: scores, calls, judgements, and rows at the edges of their type."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from impls.topk.family import FAMILY
from tests.impls import judgements
from tests.impls.jax_case import call

DTYPES = ("f64", "f32", "bf16", "f16")


def edges(seq):
    """Rows of one kind: zeros of both signs, infinities, ties, in order, at the ends of f32."""
    return (
        [0.0, -0.0] * (seq // 2),
        [-math.inf] * seq,
        [math.inf] * 3 + [-math.inf] * (seq - 4) + [1.0],
        [1.0] * seq,
        list(range(seq)),
        [-float(i) for i in range(seq)],
        [1.2e-38, -1.2e-38, 3.4e38, -3.4e38] * (seq // 4),
    )


def draw(w, seed=0):
    return drawn(w, seed)["scores"]


def on_jax(variant, w, scores, **options):
    """The result; the implementation does not know from what the scores were drawn."""
    return call(variant, replace(w, distribution="iid"), {"scores": scores}, **options)


def on_torch(variant, w, scores, **options):
    import torch

    kind = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[w.dtype]
    values, indices = variant(w, **options)(scores=torch.from_numpy(scores.astype(np.float64)).to(kind))
    return values.double().numpy(), indices.numpy()


def judged(semantics, w, scores, result, rows=None):
    return verdict(semantics, w, {"scores": scores}, result, rows)


def drawn(w, seed=0):
    return dict(FAMILY.inputs(w, np.random.default_rng(seed)))


def wide(inputs):
    """The inputs in double precision, as references take them."""
    return {name: array.astype(np.float64) for name, array in inputs.items()}


verdict = partial(judgements.verdict, FAMILY)


def values_at(scores, indices):
    return np.take_along_axis(scores, indices, axis=-1), indices
