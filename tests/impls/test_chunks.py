"""A chunk of a prompt with a longer cache equals the last rows of the whole, for every implementation."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY as ATTENTION_FAMILY
from impls.attention.family import AttentionWorkload
from impls.mla.family import FAMILY as MLA_FAMILY
from impls.mla.family import MlaWorkload
from tests.impls import mla_trial, torch_case
from tests.impls.attention_by_hand import drawn
from tests.impls.judgements import judged
from tests.impls.variants import ATTENTION, MLA

pytestmark = [pytest.mark.torch, pytest.mark.jax]

CHUNK = AttentionWorkload(stage="chunk", seq=75, queries=20, heads=4, kv_heads=2, head_dim=8)


def test_a_chunk_is_the_last_rows_of_the_whole():
    w = dataclasses.replace(CHUNK, dtype="f64")
    inputs = drawn(w)
    whole = dataclasses.replace(w, stage="attention")
    full = {**inputs, "q": np.concatenate([drawn(whole, seed=1)["q"][:, :-20], inputs["q"]], 1)}
    want = torch_case.run(ATTENTION.dense(whole), full)[:, -20:]
    for made in (ATTENTION.chunk_sdpa(w), ATTENTION_FAMILY.semantics["chunk"].reference(w, None)):
        np.testing.assert_allclose(torch_case.run(made, inputs), want, rtol=1e-9)
    some = ATTENTION_FAMILY.semantics["chunk"].reference(w, np.array([3, 19]))
    np.testing.assert_allclose(torch_case.run(some, inputs), want[:, [3, 19]], rtol=1e-9)


def test_a_chunk_that_is_aligned_at_the_first_token_fails():
    def misaligned(w):
        from torch.nn.functional import scaled_dot_product_attention

        def attend(q, k, v):
            parts = (x.transpose(1, 2) for x in (q, k, v))
            return scaled_dot_product_attention(*parts, is_causal=True, enable_gqa=True).transpose(1, 2)

        return attend

    misaligned.semantics = "chunk"
    assert not judged(ATTENTION_FAMILY, misaligned, CHUNK).passed


OF_MLA = MlaWorkload(seq=60, queries=21, phase="chunk", batch=2)


@pytest.mark.usefixtures("narrow")
def test_a_chunk_of_mla_is_the_last_rows_of_a_prefill():
    """The reference's own latents turn the prefill's first tokens into the cache."""
    import torch

    from impls.mla.reference import latents

    whole = MlaWorkload(seq=81, dtype="f64", batch=2)
    inputs = mla_trial.drawn(whole)
    want = torch_case.run(MLA_FAMILY.semantics["dense"].reference(whole, None), inputs, wide=True)[:, 60:]
    x, weights, freqs = (torch_case.tensors(inputs[name], wide=True) for name in ("x", "weights", "freqs"))
    with torch.no_grad():
        ckv, kpe = (part.numpy() for part in latents(whole, x[:, :60], weights, freqs[:60]))
    w = dataclasses.replace(OF_MLA, dtype="f64")
    rest = {"x": inputs["x"][:, 60:], "weights": inputs["weights"], "freqs": inputs["freqs"][60:]}
    chunk = {**rest, "cache_ckv": ckv, "cache_kpe": kpe}
    for made in (MLA.absorb(w), MLA_FAMILY.semantics["dense"].reference(w, None)):
        np.testing.assert_allclose(torch_case.run(made, chunk, wide=True), want, rtol=1e-7, atol=1e-10)
