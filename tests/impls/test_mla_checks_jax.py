"""The mla family's jax twins hold the checks that concern them."""

import pytest

from impls.mla.absorb_jax import absorb_jax
from impls.mla.family import FAMILY, MlaWorkload
from impls.mla.naive_jax import naive_jax
from tests.impls.mla_trial import by_jax, trial
from tests.impls.trials import failures, verdicts

pytestmark = [pytest.mark.torch, pytest.mark.jax, pytest.mark.usefixtures("uneven")]


@pytest.mark.parametrize("twin", [naive_jax, absorb_jax], ids=lambda twin: twin.name)
@pytest.mark.parametrize(
    "w",
    [
        MlaWorkload(seq=9, dtype="bf16", weights="fp8_block", mscale=True),
        MlaWorkload(seq=9, config="v3", dtype="f32", batch=2),
        MlaWorkload(seq=6, dtype="f64", causal=False, nope=12, v=28),
    ],
    ids=["fp8", "v3", "open"],
)
def test_twin_holds(twin, w):
    said = verdicts(FAMILY, "dense", trial(w, twin, by=by_jax))
    assert failures(said) == {}
    assert {"equivalence", "batch_slices", "input_scales", "no_nan", "content_matters"} <= set(said)
    assert ("fp8_dequant" in said) is (w.weights == "fp8_block")
