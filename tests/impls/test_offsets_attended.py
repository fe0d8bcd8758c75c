"""Attention by lengths and offsets of packed segments: by hand, and with one wrong number."""

from dataclasses import replace

import numpy as np
import pytest

from impls.offsets._checks_golden import FIELDS
from impls.offsets.family import FAMILY, OffsetsWorkload
from impls.offsets.thd_counted import moves_pairs, thd_counted
from impls.offsets.thd_masked import OF, thd_masked
from tests.impls import jax_case
from tests.impls.judgements import drawn, judged, verdict
from tests.impls.offsets_case import KINDS, met
from tests.impls.variants import OFFSETS as V

W = OffsetsWorkload(batch=2, seq=96, max_segments=6, window=5, head_dim=6, heads=2)


def by_hand(w, inputs):
    """Query by query, over its allowed keys."""
    q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
    out = np.zeros(q.shape)
    for b in range(w.batch):
        pairs = met(w, *(inputs[name][b] for name in FIELDS))
        for t, h in np.ndindex(*q.shape[1:3]):
            if seen := [s for query, s in pairs if query == t]:
                weights = np.exp(k[b, seen, h] @ q[b, t, h] / w.head_dim**0.5)
                out[b, t, h] = weights @ v[b, seen, h] / weights.sum()
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fields", [{}, {"layout": "cross", "seq_kv": 160}, {"layout": "absent"}], ids=str)
def test_the_reference_follows_the_definition(fields, kind):
    w = replace(W, kind=kind, batch=1, heads=1, **fields)
    inputs = drawn(FAMILY, w)
    reference = FAMILY.semantics["attended"].reference(w, None)
    np.testing.assert_allclose(reference(**inputs), by_hand(w, inputs), rtol=1e-5, atol=1e-6)


@pytest.mark.jax
def test_counting_ids_is_not_enough_where_the_first_query_of_a_stripe_meets_nothing():
    w = replace(W, layout="striped")
    assert moves_pairs(w)
    for seed in range(3):
        assert not judged(FAMILY, thd_counted, w, seed=seed).passed


@pytest.mark.jax
@pytest.mark.parametrize("part", range(4))
def test_each_wrong_number_is_a_wrong_result(part, monkeypatch):
    """One length or start of one segment, off by one."""
    inputs = drawn(FAMILY, W)
    found = [np.array(numbers) for numbers in jax_case.call(V.mask_quadratic, W, inputs)]
    found[part][0, 1] += 1 if part > 1 else -1
    monkeypatch.setitem(OF, "mask_quadratic", lambda _: lambda *_: tuple(found))
    result = jax_case.run(jax_case.jit(thd_masked(W)), inputs)
    assert not verdict(FAMILY, "attended", W, inputs, result).passed
