"""A decode of several tokens, whose cache grows; and the frequencies of an extended context."""

from dataclasses import replace

import numpy as np
import pytest

from impls.mla._inputs import frequencies
from impls.mla.family import FAMILY, MlaWorkload
from tests.impls.judgements import judged
from tests.impls.mla_trial import drawn
from tests.impls.torch_case import run
from tests.impls.variants import MLA as V

W = MlaWorkload(seq=20, phase="decode", steps=5, batch=2)
small = pytest.mark.usefixtures("narrow")


@small
@pytest.mark.torch
def test_steps_are_decodes_whose_token_has_joined_the_cache():
    """Step by step with the decode of one token, which is given the longer cache."""
    inputs = drawn(replace(W, dtype="f64"))
    got = run(V.naive_steps(replace(W, dtype="f64")), inputs)
    first = replace(W, dtype="f64", steps=1)
    for way in (V.naive, V.absorb):
        part = {**inputs, "x": inputs["x"][:, :1], "freqs": inputs["freqs"][:1]}
        np.testing.assert_allclose(run(way(first), part), got[:, :1], rtol=1e-9)
    again = run(
        V.naive_steps(replace(W, dtype="f64", steps=2)),
        {**inputs, "x": inputs["x"][:, :2], "freqs": inputs["freqs"][:2]},
    )
    np.testing.assert_allclose(again, got[:, :2], rtol=1e-12)


@small
@pytest.mark.torch
def test_a_step_that_forgets_the_one_before_fails_the_contract():
    def forgets(w):
        alone = V.naive(replace(w, steps=1))

        def decode(x, weights, freqs, cache_k, cache_v):
            import torch

            steps = range(w.steps)
            return torch.cat(
                [alone(x[:, i : i + 1], weights, freqs[i : i + 1], cache_k, cache_v) for i in steps], 1
            )

        return decode

    forgets.semantics = "steps"
    assert not judged(FAMILY, forgets, W).passed
    assert judged(FAMILY, forgets, replace(W, steps=1)).passed


def test_yarn_slows_the_slow_pairs_and_keeps_the_fast():
    """DeepSeek-V3's: of 32 pairs those up to number 10 keep their speed, from 23 on it is a fortieth."""
    kinds = ("none", "yarn")
    plain, extended = (
        np.angle(frequencies(MlaWorkload(seq=1, phase="decode", rope_scaling=kind))[0]) for kind in kinds
    )
    ratio = extended / plain
    assert ratio[:11] == pytest.approx(np.ones(11))
    assert ratio[23:] == pytest.approx(np.full(9, 1 / 40), rel=1e-5)
    share = np.arange(11, 23) - 10
    assert ratio[11:23] == pytest.approx(1 - share / 13 * (1 - 1 / 40), rel=1e-5)
