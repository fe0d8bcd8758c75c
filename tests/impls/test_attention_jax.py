"""The jax variants of attention: contracts, gradients, and what may and may not be traced."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.mslk.nsa_mslk_jax import nsa_mslk_jax
from tests.impls.attention_case import drawn
from tests.impls.jax_case import call, gradients

pytestmark = [pytest.mark.jax, pytest.mark.torch]

SMALL = AttentionWorkload(seq=320, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70, tile=64)


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


def test_a_query_that_sees_nothing_gives_zero_and_no_nan():
    w = of(seq=64, selected=1)
    inputs = drawn(w)
    inputs["q"][:], inputs["k"][:, 32:48] = 1, 2
    inputs["gates"][:] = (0, 1, 0)
    assert not call(nsa_mslk_jax, w, inputs)[:, :32].any()
    _, found = gradients(nsa_mslk_jax(w), inputs, np.ones(inputs["q"].shape))
    assert all(np.isfinite(part).all() for part in found.values())


def test_the_program_does_not_grow_with_the_sequence():
    """A tile is traced once: a loop of Python's over 4096 of them would lower for minutes."""
    import jax

    def equations(seq):
        w = AttentionWorkload(seq=seq, head_dim=64)
        shapes = {n: jax.ShapeDtypeStruct(a.shape, "float32") for n, a in FAMILY.shapes(w).items()}
        jaxpr = jax.make_jaxpr(nsa_mslk_jax(w))(*(shapes[n] for n in ("q", "k", "v", "gates")))
        largest = max(np.prod(v.aval.shape) for e in jaxpr.eqns for v in e.outvars)
        return len(jaxpr.eqns), largest

    short, long = equations(16384), equations(1 << 20)
    assert long[0] == short[0] < 100
    assert long[1] <= ((1 << 20) + 1024) * 8 * 64
