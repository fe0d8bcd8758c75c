"""The mla family's jax twins: the torch variants' answers and gradients, from programs XLA compiles."""

import inspect

import numpy as np
import pytest

from harness import Evidence, Unsupported
from impls.mla.absorb_jax import absorb_jax
from impls.mla.family import FAMILY, MlaWorkload
from impls.mla.naive import naive
from impls.mla.naive_jax import naive_jax
from tests.impls import jax_case, torch_case
from tests.impls.jax_case import jit
from tests.impls.mla_trial import drawn, first_moved

pytestmark = [pytest.mark.torch, pytest.mark.jax, pytest.mark.usefixtures("narrow")]

TWINS = (naive_jax, absorb_jax)
NAMES = [twin.name for twin in TWINS]


def wide(tree):
    """Every array in double precision, on the host."""
    import jax

    return jax.tree.map(lambda part: np.asarray(part).astype(np.float64), tree)


def run(function, w, inputs):
    return wide(jax_case.run(jit(function), inputs, x64=w.dtype == "f64"))


def gradients(function, w, inputs, cotangent):
    """Gradients of the floating inputs, under the names that the torch helpers give them."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(w.dtype == "f64"):
        fixed = {n: inputs[n] for n in inspect.signature(function).parameters if n not in {"x", "weights"}}

        @jit
        def pulled(x, weights):
            result, pull = jax.vjp(lambda x, weights: function(x=x, weights=weights, **fixed), x, weights)
            return pull(jnp.asarray(cotangent, result.dtype))

        of_x, of_weights = pulled(inputs["x"], inputs["weights"])
        return {"x": wide(of_x), **{f"weights.{name}": g for name, g in wide(of_weights).items()}}


def expected(w, inputs):
    return torch_case.run(FAMILY.semantics["dense"].reference(w, None), inputs, wide=True)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
@pytest.mark.parametrize(
    ("config", "dtype", "fields"),
    [
        ("small", "f32", {"seq": 1}),
        ("v3", "f16", {"seq": 70, "batch": 2}),
        ("v3", "f64", {"seq": 60, "causal": False}),
        ("v3", "f32", {"seq": 90, "phase": "decode", "batch": 2}),
        ("small", "bf16", {"seq": 90, "phase": "decode", "batch": 2}),
    ],
)
def test_twin_matches_the_reference(twin, config, dtype, fields):
    w = MlaWorkload(config=config, dtype=dtype, **fields)
    inputs = drawn(w)
    evidence = Evidence(w, inputs, run(twin(w), w, inputs), expected(w, inputs))
    judgement = FAMILY.semantics["dense"].contract.judge(evidence)
    assert judgement.passed, judgement.reason
    assert judgement.figures["relative_rms"] < 0.7 * judgement.figures["relative_rms_bound"]


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
@pytest.mark.parametrize(("config", "dtype"), [("small", "f64"), ("v3", "bf16")])
def test_gradients_match_the_reference(twin, config, dtype):
    w = MlaWorkload(seq=40, batch=2, config=config, dtype=dtype)
    inputs, meaning = drawn(w), FAMILY.semantics["dense"]
    cotangent = np.random.default_rng(1).standard_normal((2, 40, w.widths.dim))
    cotangent = wide(cotangent.astype(inputs["x"].dtype))
    _, wanted = torch_case.gradients(meaning.reference(w, None), inputs, cotangent, wide=True)
    judgement = meaning.gradient.judge(Evidence(w, inputs, gradients(twin(w), w, inputs, cotangent), wanted))
    assert judgement.passed, judgement.reason
    assert judgement.figures["largest_error_of_allowed"] < 0.7


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_twins_agree_with_torch(phase):
    w = MlaWorkload(seq=40, phase=phase, dtype="f64")
    inputs = drawn(w)
    want = torch_case.run(naive(w), inputs)
    for twin in TWINS:
        np.testing.assert_allclose(run(twin(w), w, inputs), want, atol=1e-12)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_decode_after_prefill_is_the_last_row_of_the_longer_prefill(twin):
    import jax

    from impls.mla._jax import keys_values, latents

    longer = MlaWorkload(seq=41, config="v3", dtype="f64")
    inputs = drawn(longer)
    weights = inputs["weights"]
    with jax.enable_x64(new_val=True):
        past = (inputs["x"][:, :40], weights, inputs["freqs"][:40])
        ckv, kpe = latents(longer, *past)
        k, v = keys_values(longer, *past)
    decoding = {"x": inputs["x"][:, 40:], "weights": weights, "freqs": inputs["freqs"][40:]}
    caches = {"cache_ckv": ckv, "cache_kpe": kpe, "cache_k": k, "cache_v": v}
    w = MlaWorkload(seq=40, phase="decode", config="v3", dtype="f64")
    got = run(twin(w), w, {**decoding, **wide(caches)})
    np.testing.assert_allclose(got, run(twin(longer), longer, inputs)[:, 40:], atol=1e-12)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_later_tokens_stay_unseen(twin):
    w = MlaWorkload(seq=60)
    function = twin(w)
    assert first_moved(lambda inputs: run(function, w, inputs), w) == 30


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_a_decode_has_no_backward(twin):
    w = MlaWorkload(seq=9, phase="decode")
    with pytest.raises(Unsupported, match="phase=decode"):
        gradients(twin(w), w, drawn(w), np.ones((1, 1, 96)))
