"""The mla family: its inputs and reference, fields that were added later, and decodes of several tokens."""

import math
from dataclasses import replace

import numpy as np
import pytest

from impls.mla import family as mla
from impls.mla._inputs import frequencies
from impls.mla.family import FAMILY, MlaWorkload, cost
from tests.impls.judgements import judged
from tests.impls.mla_trial import NARROW, attend_of, drawn
from tests.impls.torch_case import array, operators, run, tensor
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]


def reference(w, rows=None):
    return FAMILY.semantics["dense"].reference(w, rows)


@pytest.mark.parametrize("causal", [True, False])
def test_above_256_tokens_the_fast_path_is_the_naive_program(causal):
    long, short = (MlaWorkload(seq=seq, causal=causal) for seq in (257, 256))
    assert attend_of(V.fast_path(long)) is attend_of(V.naive(long))
    assert operators(V.fast_path, FAMILY, long) == operators(V.naive, FAMILY, long)
    assert operators(V.fast_path, FAMILY, short) != operators(V.naive, FAMILY, short)
    decode = MlaWorkload(seq=5000, phase="decode")
    assert attend_of(V.fast_path(decode)) is not attend_of(V.naive(decode))


def test_both_caches_have_the_same_content():
    w = MlaWorkload(seq=9, batch=2, phase="decode", dtype="f64")
    inputs = drawn(w)
    c = w.widths
    made = (inputs["cache_ckv"] @ inputs["weights"]["wkv_b"].T).reshape(2, 9, c.heads, c.nope + c.v)
    np.testing.assert_allclose(inputs["cache_k"][..., : c.nope], made[..., : c.nope], atol=1e-12)
    np.testing.assert_allclose(inputs["cache_v"], made[..., c.nope :], atol=1e-12)
    for head in range(c.heads):
        assert np.array_equal(inputs["cache_k"][:, :, head, c.nope :], inputs["cache_kpe"])


def test_a_decodes_position_is_after_its_cache(monkeypatch):
    monkeypatch.undo()
    angle = np.angle(drawn(MlaWorkload(seq=100, phase="decode"))["freqs"])
    want = 100 * 10000.0 ** -(np.arange(32) / 32)
    np.testing.assert_allclose(angle, (want[None] + np.pi) % (2 * np.pi) - np.pi, atol=1e-5)
    freqs = drawn(MlaWorkload(seq=3))["freqs"]
    assert freqs.shape == (3, 32)
    assert (freqs[0] == 1).all()


@pytest.mark.parametrize("variant", [V.naive, V.fast_path], ids=lambda variant: variant.name)
def test_a_decode_copies_no_cache(variant):
    w = MlaWorkload(seq=777, phase="decode")
    _, seen = operators(variant, FAMILY, w)
    moved = [name for name, shapes in seen for shape in shapes if 777 in shape and len(shape) > 3]
    copies = {"aten.clone.default", "aten.copy_.default", "aten._to_copy.default"}
    assert moved
    assert not copies & {
        name for name, shapes in seen if any(777 in shape and np.prod(shape) > 777 * 4 for shape in shapes)
    }


def test_reference_on_rows_equals_its_whole(monkeypatch):
    from impls.mla import reference as plain

    w = MlaWorkload(seq=90, batch=2, config="v3")
    inputs = drawn(w)
    rows = np.array([0, 1, 44, 89])
    whole = run(reference(w), inputs, wide=True)
    np.testing.assert_allclose(run(reference(w, rows), inputs, wide=True), whole[:, rows], atol=1e-12)
    monkeypatch.setattr(plain, "KEYS", 1)
    monkeypatch.setattr(plain, "SCORES", 1)
    np.testing.assert_allclose(run(reference(w), inputs, wide=True), whole, atol=1e-12)
    one = MlaWorkload(seq=90, phase="decode")
    inputs = drawn(one)
    assert run(reference(one, np.array([0])), inputs, wide=True).shape == (1, 1, 96)


def test_a_rotation_is_a_complex_product():
    from impls.mla._torch import _rotate as shared
    from impls.mla.reference import _rotate as plain

    x = np.random.default_rng(0).standard_normal((1, 5, 2, 8))
    freqs = drawn(MlaWorkload(seq=5))["freqs"].astype(np.complex128)
    want = ((x[..., ::2] + 1j * x[..., 1::2]) * freqs[:, None]).view(np.float64)
    np.testing.assert_allclose(array(shared(tensor(x), tensor(freqs))), want, atol=1e-12)
    np.testing.assert_allclose(array(plain(tensor(x), tensor(freqs)[:, None])), want, atol=1e-12)


def test_widths_follow_the_fields():
    assert MlaWorkload(seq=1).widths == NARROW["small"]
    assert MlaWorkload(seq=1, q_lora="on").widths.q_lora == NARROW["v3"].q_lora
    assert MlaWorkload(seq=1, q_lora="on", config="v3").widths == NARROW["v3"]
    assert MlaWorkload(seq=1, q_lora="off", config="v3").widths.q_lora == 0
    widths = MlaWorkload(seq=1, nope=6, v=10).widths
    assert (widths.nope, widths.rope, widths.v) == (6, 8, 10)
    own = MlaWorkload(seq=1, dim=48, heads=3, q_lora_rank=24, kv_lora_rank=40).widths
    assert (own.dim, own.heads, own.q_lora, own.kv_lora, own.nope) == (48, 3, 24, 40, 16)
    assert "wq_a" in drawn(MlaWorkload(seq=1, q_lora="on"))["weights"]


def test_mscale_is_that_of_a_context_40_times_longer():
    ratio = MlaWorkload(seq=1, mscale=True).scale / MlaWorkload(seq=1).scale
    assert ratio == pytest.approx(1.874, abs=5e-4)
    assert MlaWorkload(seq=1).scale == 24**-0.5


def test_quantised_weights_are_a_quarter_of_f32():
    kept = {kind: cost(MlaWorkload(seq=1, weights=kind)) for kind in ("plain", "fp8_block")}
    assert kept["plain"].flops == kept["fp8_block"].flops
    linear = sum(math.prod(s) for s in mla.weight_shapes(NARROW["small"]).values() if len(s) > 1)
    saved = kept["plain"].bytes - kept["fp8_block"].bytes
    assert saved == 3 * linear - 4 * 5  # of four weights only wkv_b, with 160 rows, has two blocks


def test_a_table_has_the_pages_of_the_cache_and_the_form_that_is_not_read_costs_nothing():
    w = MlaWorkload(seq=50, batch=2, phase="decode", page=16, dtype="f64")
    arrays = FAMILY.inputs(w, np.random.default_rng(0))
    table = arrays["page_table"]
    assert sorted(table.ravel()) == list(range(2 * 4))
    for pages, cache in (("pages_ckv", "cache_ckv"), ("pages_kpe", "cache_kpe")):
        in_rows = arrays[pages][table].reshape(2, 64, -1)
        np.testing.assert_array_equal(in_rows[:, :50], arrays[cache])
        assert (in_rows[:, 50:] == 448).all()
    assert cost(w) == cost(MlaWorkload(seq=50, batch=2, phase="decode", dtype="f64"))


STEPS = MlaWorkload(seq=20, phase="decode", steps=5, batch=2)


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
    assert not judged(FAMILY, forgets, STEPS).passed
    assert judged(FAMILY, forgets, replace(STEPS, steps=1)).passed


def test_yarn_slows_the_slow_pairs_and_keeps_the_fast(monkeypatch):
    """DeepSeek-V3's: of 32 pairs those up to number 10 keep their speed, from 23 on it is a fortieth."""
    monkeypatch.undo()
    kinds = ("none", "yarn")
    plain, extended = (
        np.angle(frequencies(MlaWorkload(seq=1, phase="decode", rope_scaling=kind))[0]) for kind in kinds
    )
    ratio = extended / plain
    assert ratio[:11] == pytest.approx(np.ones(11))
    assert ratio[23:] == pytest.approx(np.full(9, 1 / 40), rel=1e-5)
    share = np.arange(11, 23) - 10
    assert ratio[11:23] == pytest.approx(1 - share / 13 * (1 - 1 / 40), rel=1e-5)
