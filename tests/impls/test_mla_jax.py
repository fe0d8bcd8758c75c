"""The mla family's jax twins: right as the torch variants are, from programs XLA compiles."""

import numpy as np
import pytest

from harness import Unsupported
from impls.mla.absorb_jax import absorb_jax
from impls.mla.family import FAMILY, MlaWorkload
from impls.mla.naive_jax import naive_jax
from tests.impls.jax_case import gradients, judged
from tests.impls.judgements import assert_passed
from tests.impls.mla_trial import by_jax, drawn, trial
from tests.impls.trials import failures, verdicts

pytestmark = [
    *(pytest.mark.torch, pytest.mark.jax),
    pytest.mark.parametrize("twin", [naive_jax, absorb_jax], ids=lambda twin: twin.name),
]


@pytest.mark.usefixtures("narrow")
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
    judgement = assert_passed(judged(FAMILY, twin, MlaWorkload(config=config, dtype=dtype, **fields)))
    assert judgement.figures["relative_rms"] < 0.7 * judgement.figures["relative_rms_bound"]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("config", "dtype"), [("small", "f64"), ("v3", "bf16")])
def test_gradients_match_the_reference(twin, config, dtype):
    w = MlaWorkload(seq=40, batch=2, config=config, dtype=dtype)
    judgement = assert_passed(judged(FAMILY, twin, w, backward=True))
    assert judgement.figures["largest_error_of_allowed"] < 0.7


@pytest.mark.usefixtures("narrow")
def test_a_decode_has_no_backward(twin):
    w = MlaWorkload(seq=9, phase="decode")
    with pytest.raises(Unsupported, match="phase=decode"):
        gradients(twin(w), drawn(w), np.ones((1, 1, 96)))


@pytest.mark.usefixtures("uneven")
@pytest.mark.parametrize(
    "w",
    [
        MlaWorkload(seq=9, dtype="bf16", weights="fp8_block", mscale=True),
        MlaWorkload(seq=9, config="v3", dtype="f32", batch=2),
        MlaWorkload(seq=6, dtype="f64", causal=False, nope=12, v=28),
    ],
    ids=["fp8", "v3", "open"],
)
def test_twin_holds_the_checks_that_concern_it(twin, w):
    said = verdicts(FAMILY, "dense", trial(w, twin, by=by_jax))
    assert failures(said) == {}
    assert {"equivalence", "batch_slices", "input_scales", "no_nan", "content_matters"} <= set(said)
    assert ("fp8_dequant" in said) is (w.weights == "fp8_block")
    assert "decode_after_prefill" in said
    assert ("causality" in said) is w.causal
