"""The variants of the mla family hold the checks that concern them, and fail those they declare."""

import pytest

from impls.mla.family import MlaWorkload
from tests.impls.mla_trial import CHECKS, trial
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]

GOOD = (V.naive, V.absorb, V.fast_path, V.naive_chunked, V.naive_sdpa, V.absorb_sdpa)


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
