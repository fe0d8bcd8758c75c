"""The variants of the mla family hold the checks that concern them, and fail those they declare."""

import pytest

from harness import Unsupported
from impls.mla import family as mla
from impls.mla.family import FAMILY, MlaWorkload
from tests.impls.judgements import assert_passed
from tests.impls.mla_trial import CHECKS, UNEVEN, trial
from tests.impls.trials import failures, verdicts
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]

GOOD = (V.naive, V.absorb, V.fast_path, V.naive_chunked, V.naive_sdpa, V.absorb_sdpa)


def examined(w, variant, mode="fwd"):
    """What every check that concerns the variant says, by name."""
    return verdicts(FAMILY, "dense", trial(w, variant, mode), name=variant.name, refusal=[Unsupported])


@pytest.mark.parametrize("variant", GOOD, ids=lambda variant: variant.name)
@pytest.mark.parametrize(
    "w",
    [
        MlaWorkload(seq=1, dtype="bf16"),
        MlaWorkload(seq=60, batch=2, config="v3"),
        MlaWorkload(seq=257, dtype="bf16"),
        MlaWorkload(seq=256, dtype="f16", causal=False),
        MlaWorkload(seq=70, dtype="f64", mscale=True, q_lora="on"),
        MlaWorkload(seq=40, config="v3", dtype="bf16", q_lora="off", input_scale=0.25),
        MlaWorkload(seq=40, dtype="bf16", weights="fp8_block"),
    ],
    ids=["one", "v3", "bf16", "open", "f64", "scaled", "fp8"],
)
def test_prefill_holds(variant, w):
    said = examined(w, variant)
    assert failures(said) == {}
    wanted = set(CHECKS) - {"boundary", "fallback_is_naive", "causality", "fp8_dequant"}
    if variant is not V.fast_path or w.weights == "fp8_block":
        wanted -= {"dtypes"}
    if w.seq == 1:
        wanted -= {"decode_after_prefill", "content_matters"}
    if variant is V.naive_chunked:
        wanted -= {"decode_after_prefill"}  # it refuses a decode
    assert wanted <= set(said)


@pytest.mark.parametrize("variant", [v for v in GOOD if v is not V.naive_chunked], ids=lambda v: v.name)
@pytest.mark.parametrize(
    "w",
    [
        MlaWorkload(seq=50, phase="decode", batch=2, dtype="bf16"),
        MlaWorkload(seq=300, phase="decode", config="v3", dtype="f16"),
        MlaWorkload(seq=30, phase="decode", dtype="f64", weights="fp8_block"),
    ],
    ids=["bf16", "f16", "fp8"],
)
def test_decode_holds(variant, w):
    said = examined(w, variant)
    assert failures(said) == {}
    assert {"equivalence", "batch_slices", "content_matters", "input_scales", "no_nan"} <= set(said)
    assert not {"causality", "boundary", "decode_after_prefill"} & set(said)


@pytest.mark.parametrize("variant", GOOD, ids=lambda variant: variant.name)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_a_backward_is_asked_for_numbers(variant, dtype):
    said = examined(MlaWorkload(seq=30, dtype=dtype), variant, "bwd")
    assert list(said) == ["no_nan"]
    assert failures(said) == {}


@pytest.mark.parametrize("variant", [V.naive, V.absorb, V.naive_sdpa], ids=lambda variant: variant.name)
@pytest.mark.parametrize("config", ["small", "v3"])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_quantised_weights_of_uneven_shapes_hold(variant, config, dtype, monkeypatch):
    monkeypatch.setitem(mla.CONFIGS, config, UNEVEN[config])
    w = MlaWorkload(seq=20, config=config, dtype=dtype, weights="fp8_block")
    verdict = assert_passed(CHECKS["fp8_dequant"].judge(trial(w, variant)))
    assert verdict.figures["differing"] == 0  # the same numbers go through the same program


@pytest.mark.parametrize(
    "w",
    [
        *(MlaWorkload(seq=seq) for seq in (1, 40, 256)),
        *(MlaWorkload(seq=seq, causal=False) for seq in (1, 40, 257)),
        MlaWorkload(seq=256, causal=False, config="v3", dtype="bf16"),
        MlaWorkload(seq=30, causal=False, weights="fp8_block"),
    ],
    ids=["one", "causal", "causal-256", "one-open", "open", "above", "last", "fp8"],
)
def test_the_claimed_fast_path_fails_what_it_declares(w):
    said = examined(w, V.claimed_fast_path)
    declared = {name for name in V.claimed_fast_path.fails(w, {}) if name in said}
    assert set(failures(said)) == declared
    assert bool(declared) == (V.claimed_fast_path.expect.when(w) or w.seq == 257)


@pytest.mark.parametrize(
    ("variant", "same"),
    [(V.fast_path, True), (V.claimed_fast_path, True), (V.absorb, False), (V.naive_sdpa, False)],
    ids=lambda given: getattr(given, "name", given),
)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_which_program_ran_above_256_tokens_shows_in_its_bits(variant, same, dtype):
    said = CHECKS["fallback_is_naive"].judge(trial(MlaWorkload(seq=257, dtype=dtype), variant))
    assert said.passed is same
    assert (said.figures["unlike_naive"] == 0) is same


def test_facts_say_what_a_token_leaves_behind():
    for fields, heads, latents in (
        ({"dtype": "bf16"}, 4 * (16 + 8 + 24) * 2, (32 + 8) * 2),
        ({"dtype": "f64", "phase": "decode", "config": "v3"}, 6 * (16 + 8 + 24) * 8, (32 + 8) * 8),
        ({"v": 40, "rope": 10}, 4 * (16 + 10 + 40) * 4, (32 + 10) * 4),
    ):
        w = MlaWorkload(seq=9, **fields)
        for variant in GOOD:
            facts = variant.facts(w, None, {})
            wanted = latents if variant in (V.absorb, V.absorb_sdpa) else heads
            assert facts["cache_bytes_per_token"] == wanted
    for w, path in ((MlaWorkload(seq=256), "fast"), (MlaWorkload(seq=257), "naive")):
        assert V.fast_path.facts(w, None, {})["path"] == path
    for causal, path, width in ((False, "claimed", 8 + 24), (True, "naive", 16 + 8 + 24)):
        facts = V.claimed_fast_path.facts(MlaWorkload(seq=9, causal=causal), None, {})
        assert facts == {"cache_bytes_per_token": 4 * width * 4, "path": path}


def test_the_published_ratio_of_the_caches(monkeypatch):
    monkeypatch.undo()
    w = MlaWorkload(seq=9, config="v3", dtype="bf16")
    kept = [v.facts(w, None, {})["cache_bytes_per_token"] for v in (V.naive, V.absorb)]
    assert kept == [2 * 40960, 2 * 576]
