"""Attention that walks packed segments by lengths and offsets, whole and by stripes; unlike rows."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from harness import Unsupported
from impls.offsets._checks_golden import FIELDS
from impls.offsets._thd_jax import attend_segments, join
from impls.offsets.family import FAMILY, OffsetsWorkload
from impls.offsets.thd_counted import moves_pairs, thd_counted
from impls.offsets.thd_masked import OF, thd_masked
from tests.impls import jax_case, judgements
from tests.impls.judgements import assert_passed
from tests.impls.offsets_case import KINDS, met
from tests.impls.torch_case import run
from tests.impls.variants import OFFSETS as V

W = OffsetsWorkload(batch=2, seq=96, max_segments=6, window=5, head_dim=6, heads=2)
CROSS = replace(W, layout="cross", seq_kv=160)
LAYOUTS = {
    "self": W,
    "cross": CROSS,
    "absent": replace(W, layout="absent"),
    "striped": replace(W, layout="striped"),
}


def drawn(w, seed=0):
    return FAMILY.inputs(w, np.random.default_rng(seed))


verdict = partial(judgements.verdict, FAMILY, "attended")


def attended(variant, w, seed=0, **options):
    inputs = drawn(w, seed)
    if variant.framework == "torch":
        return verdict(w, inputs, run(variant(w), inputs))
    return verdict(w, inputs, jax_case.call(variant, w, inputs, **options))


@pytest.fixture
def ring(monkeypatch):
    """Verdicts of thd_ring, whose n² pairs of stripes take turns in a program of one pair, not of all."""
    home = "impls.offsets.thd_ring"
    attend = cache(lambda w: jax_case.jit(partial(attend_segments, w)))
    monkeypatch.setattr(f"{home}.segment_min", lambda w: jax_case.jit(V.segment_min(w)))
    monkeypatch.setattr(f"{home}.attend_segments", lambda w, *arrays: attend(w)(*arrays))
    monkeypatch.setattr(f"{home}.join", lambda parts, dtype: jax_case.jit(partial(join, dtype=dtype))(parts))

    def judge(w, **options):
        inputs = drawn(w)
        return verdict(w, inputs, jax_case.run(V.thd_ring(w, **options), inputs, x64=w.dtype == "f64"))

    return judge


def by_hand(w, inputs):
    """Query by query, over the keys that it meets."""
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
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_reference_follows_the_definition(layout, kind):
    w = replace(LAYOUTS[layout], kind=kind, batch=1, heads=1)
    inputs = drawn(w)
    reference = FAMILY.semantics["attended"].reference(w, None)
    np.testing.assert_allclose(reference(**inputs), by_hand(w, inputs), rtol=1e-5, atol=1e-6)


@pytest.mark.jax
@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16"])
def test_other_dtypes_keep_their_bounds(dtype, ring):
    w = replace(W, dtype=dtype)
    for judgement in (attended(thd_masked, w), attended(V.thd_segments, w), ring(w)):
        assert judgement.passed, judgement.reason


@pytest.mark.jax
@pytest.mark.parametrize("devices", [1, 3, 8])
@pytest.mark.parametrize("kind", ["causal", "padding"])
def test_a_ring_gives_the_attention_of_the_row(kind, devices, ring):
    """Of eight stripes many hold no token of a segment at all."""
    assert_passed(ring(replace(W, kind=kind), devices=devices))


@pytest.mark.jax
def test_a_stripe_may_have_fewer_tokens_than_the_row_has_segments(ring):
    assert_passed(ring(replace(W, seq=24), devices=8))


@pytest.mark.jax
def test_a_ring_is_one_program():
    assert_passed(attended(V.thd_ring, W, devices=2))


@pytest.mark.jax
def test_counting_ids_is_enough_unless_the_first_query_of_a_stripe_meets_nothing():
    for seed in range(3):
        for kind in ("causal", "bottom_right", "padding"):
            assert attended(thd_counted, replace(CROSS, kind=kind), seed).passed
        w = LAYOUTS["striped"]
        assert moves_pairs(w)
        assert not attended(thd_counted, w, seed).passed
        assert attended(thd_counted, replace(w, kind="padding"), seed).passed
    for w in (LAYOUTS["absent"], replace(LAYOUTS["striped"], kind="bottom_right")):
        with pytest.raises(Unsupported, match="use thd_masked"):
            thd_counted(w)


@pytest.mark.jax
@pytest.mark.parametrize("part", range(4))
def test_each_wrong_number_is_a_wrong_result(part, monkeypatch):
    """One length or start of one segment, off by one."""
    inputs = drawn(W)
    found = [np.array(numbers) for numbers in jax_case.call(V.mask_quadratic, W, inputs)]
    found[part][0, 1] += 1 if part > 1 else -1
    monkeypatch.setitem(OF, "mask_quadratic", lambda _: lambda *_: tuple(found))
    assert not verdict(W, inputs, jax_case.run(jax_case.jit(thd_masked(W)), inputs)).passed
