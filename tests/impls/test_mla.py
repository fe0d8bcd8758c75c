"""The mla family: every way to one answer, in prefill and in decode."""

import numpy as np
import pytest

from impls.mla.family import FAMILY, MlaWorkload
from tests.impls.mla_trial import attend_of, drawn
from tests.impls.torch_case import Option, array, flat, operators, run, tensor
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]

PLAIN = (V.naive, V.absorb, V.fast_path)
SDPA = (
    V.absorb_sdpa,
    V.naive_sdpa,
    Option(V.naive_sdpa, backend="math"),
    Option(V.naive_sdpa, backend="flash"),
)
DECODING = (*PLAIN, *SDPA)
ONE, PREFILL, DECODE = {"seq": 1}, {"seq": 257, "batch": 2}, {"seq": 300, "phase": "decode", "batch": 2}


def each(*variants):
    return pytest.mark.parametrize("variant", variants, ids=lambda variant: variant.name)


def reference(w, rows=None):
    return FAMILY.semantics["dense"].reference(w, rows)


@pytest.mark.parametrize("causal", [True, False])
def test_above_256_tokens_the_fast_path_is_the_naive_program(causal):
    long, short = (MlaWorkload(seq=seq, causal=causal) for seq in (257, 256))
    assert attend_of(V.fast_path(long)) is attend_of(V.naive(long))
    assert operators(V.fast_path, FAMILY, long) == operators(V.naive, FAMILY, long)
    assert operators(V.fast_path, FAMILY, short) != operators(V.naive, FAMILY, short)


def test_decoding_one_token_is_always_short():
    w = MlaWorkload(seq=5000, phase="decode")
    assert attend_of(V.fast_path(w)) is not attend_of(V.naive(w))


@pytest.mark.parametrize(("config", "queries"), [("small", {"wq"}), ("v3", {"wq_a", "q_norm", "wq_b"})])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_weights_are_those_of_the_configuration(config, queries, phase):
    w = MlaWorkload(seq=9, batch=2, config=config, phase=phase, dtype="bf16")
    inputs = drawn(w)
    assert flat(FAMILY.shapes(w)) == flat(inputs)
    assert set(inputs["weights"]) == queries | {"wkv_a", "kv_norm", "wkv_b", "wo"}
    assert next(iter(inputs)) == "x"


def test_both_caches_hold_one_content():
    w = MlaWorkload(seq=9, batch=2, phase="decode", dtype="f64")
    inputs = drawn(w)
    c = w.widths
    made = (inputs["cache_ckv"] @ inputs["weights"]["wkv_b"].T).reshape(2, 9, c.heads, c.nope + c.v)
    np.testing.assert_allclose(inputs["cache_k"][..., : c.nope], made[..., : c.nope], atol=1e-12)
    np.testing.assert_allclose(inputs["cache_v"], made[..., c.nope :], atol=1e-12)
    for head in range(c.heads):
        assert np.array_equal(inputs["cache_k"][:, :, head, c.nope :], inputs["cache_kpe"])


def test_a_decode_stands_behind_its_cache(monkeypatch):
    monkeypatch.undo()
    angle = np.angle(drawn(MlaWorkload(seq=100, phase="decode"))["freqs"])
    want = 100 * 10000.0 ** -(np.arange(32) / 32)
    np.testing.assert_allclose(angle, (want[None] + np.pi) % (2 * np.pi) - np.pi, atol=1e-5)
    freqs = drawn(MlaWorkload(seq=3))["freqs"]
    assert freqs.shape == (3, 32)
    assert (freqs[0] == 1).all()


@each(V.naive, V.fast_path)
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
