"""What the tests of selections share: scores, calls and verdicts."""

from dataclasses import replace
from functools import partial

import numpy as np

from impls.topk.family import FAMILY
from tests.impls import judgements
from tests.impls.jax_case import call


def draw(w, seed=0):
    return drawn(w, seed)["scores"]


def on_jax(variant, w, scores, **options):
    """The result; the implementation does not know from what the scores were drawn."""
    return call(variant, replace(w, distribution="iid"), {"scores": scores}, **options)


def judged(semantics, w, scores, result, rows=None):
    return verdict(semantics, w, {"scores": scores}, result, rows)


def wide(inputs):
    """The inputs in double precision, as references take them."""
    return {name: array.astype(np.float64) for name, array in inputs.items()}


drawn, verdict = (partial(given, FAMILY) for given in (judgements.drawn, judgements.verdict))


def values_at(scores, indices):
    return np.take_along_axis(scores, indices, axis=-1), indices
