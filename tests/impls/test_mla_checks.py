"""The checks of the mla family: each detects its own mistake."""

import numpy as np
import pytest

from impls.mla import _torch, naive
from impls.mla import family as mla
from impls.mla.family import FAMILY, MlaWorkload
from tests.impls.judgements import assert_failed, judged
from tests.impls.mla_trial import CHECKS, UNEVEN, trial
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]

PARTS = ("joined_queries", "keys_values", "probabilities", "future", "dequantise")
RIGHT = {name: getattr(_torch, name) for name in PARTS}


def clamped(w, scores, mask=None):
    """Scores are clamped to ±8 before the softmax; normal scores do not exceed this."""
    return RIGHT["probabilities"](w, [part.clamp(-8 / w.scale, 8 / w.scale) for part in scores], mask)


def unshifted(w, scores, mask=None):
    """A softmax that does not subtract the largest score."""
    import torch

    wide = torch.cat(scores, -1) * w.scale
    weights = torch.exp(wide if mask is None else wide + mask)
    return (weights / weights.sum(-1, keepdim=True)).split([part.shape[-1] for part in scores], -1)


def lost(w, x, weights, freqs):
    """A decode that rotates its new key like the first token's."""
    first = freqs * 0 + 1 if w.phase == "decode" else freqs
    return RIGHT["keys_values"](w, x, weights, first)


def of_the_first(w, x, weights, freqs):
    """Every sequence attends to the keys and values of the first."""
    return tuple(part[:1].expand_as(part) for part in RIGHT["keys_values"](w, x, weights, freqs))


def without_content(w, x, weights, freqs):
    import torch

    q = RIGHT["joined_queries"](w, x, weights, freqs)
    return torch.cat([q[..., : w.widths.nope] * 0, q[..., w.widths.nope :]], -1)


def shifted_above(w, x):
    """Above 256 tokens each query sees one key too many."""
    mask = RIGHT["future"](w, x)
    return mask if mask is None or w.seq <= 256 else mask.triu(2).nan_to_num(0, neginf=-np.inf)


def faint(w, x):
    """A mask that closes by −14: a hidden key keeps a millionth of its weight."""
    mask = RIGHT["future"](w, x)
    return None if mask is None else mask.clamp(min=-14)


def unguarded(x, weight):
    """A norm without ε."""
    return x / x.square().mean(-1, keepdim=True).sqrt() * weight


def whole_blocks(w, weights):
    """Scales of whole blocks only: a partial block at the end uses the scale of the block before it."""
    import torch

    made = dict(weights)
    for name in [name for name in weights if name.endswith("_scale")]:
        scales = made.pop(name)
        numbers = weights[name.removesuffix("_scale")].view(torch.float8_e4m3fn).float()
        row, column = (
            (torch.arange(size) // 128).clamp(max=max(size // 128 - 1, 0)) for size in numbers.shape
        )
        made[name.removesuffix("_scale")] = (numbers * scales[row][:, column]).to(weights["kv_norm"].dtype)
    return made


HALF = MlaWorkload(seq=40, dtype="bf16")
PLAIN = MlaWorkload(seq=40)
PACKED = MlaWorkload(seq=20, weights="fp8_block")
BROKEN = [
    ("equivalence", PLAIN, "probabilities", clamped, "large: result"),
    ("decode_after_prefill", PLAIN, "keys_values", lost, "relative RMS"),
    ("boundary", MlaWorkload(seq=256), "future", shifted_above, "257 to 256: result"),
    ("batch_slices", PLAIN, "keys_values", of_the_first, "1: result"),
    ("batch_slices", MlaWorkload(seq=9, batch=3), "keys_values", of_the_first, "2: result"),
    ("causality", PLAIN, "future", faint, "rows change when a later token changes"),
    ("content_matters", PLAIN, "joined_queries", without_content, "changes by"),
    ("content_matters", HALF, "joined_queries", without_content, "changes by"),
    ("input_scales", PLAIN, "_norm", unguarded, "small: result"),
    ("input_scales", PLAIN, "probabilities", unshifted, "not finite if tokens are 1024 times"),
    ("no_nan", PLAIN, "_norm", unguarded, "not finite zero"),
    ("fp8_dequant", PACKED, "dequantise", whole_blocks, "relative RMS"),
]


def breaks(monkeypatch, what, broken):
    """`naive` with one of its parts replaced."""
    monkeypatch.setattr(_torch if what in {"_norm", "probabilities"} else naive, what, broken)
    if broken is whole_blocks:
        monkeypatch.setitem(mla.CONFIGS, "small", UNEVEN["small"])
    return naive.naive


@pytest.mark.parametrize(
    ("check", "w", "what", "broken", "says"),
    BROKEN,
    ids=[f"{check}-{broken.__name__}-{w.dtype}-{w.batch}" for check, w, _, broken, _ in BROKEN],
)
def test_a_broken_one_is_caught(monkeypatch, check, w, what, broken, says):
    assert CHECKS[check].concerns("dense", "fwd", (), w)
    assert_failed(CHECKS[check].judge(trial(w, breaks(monkeypatch, what, broken))), says)


def test_checks_concern_what_they_can_judge():
    def names(mode="fwd", **fields):
        w = MlaWorkload(**fields)
        found = FAMILY.checks
        return {check.name for check in found if check.concerns("dense", mode, (), w, name="fast_path")}

    always = {"equivalence", "batch_slices", "input_scales", "no_nan"}
    assert names(seq=1) == always | {"dtypes"}
    assert names(seq=1, causal=False) == always | {"dtypes"}
    assert names(seq=1, phase="decode") == always | {"content_matters"}
    assert names(seq=2) == always | {"content_matters", "causality", "decode_after_prefill", "dtypes"}
    assert "boundary" in names(seq=255)
    assert "boundary" not in names(seq=254)
    assert "boundary" not in names(seq=256, phase="decode")
    assert "fallback_is_naive" in names(seq=257) - names(seq=256)
    assert "fp8_dequant" in names(seq=1, weights="fp8_block")
    assert names(mode="bwd", seq=257) == {"no_nan"}


def test_a_broken_backward_is_caught(monkeypatch):
    """A norm whose forward is right at zero, where its derivative does not exist."""

    def rooted(x, weight):
        size = x.square().sum(-1, keepdim=True).sqrt() / x.shape[-1] ** 0.5
        return x / size.clamp(min=1e-3) * weight

    made = breaks(monkeypatch, "_norm", rooted)
    assert CHECKS["no_nan"].judge(trial(PLAIN, made)).passed
    assert_failed(CHECKS["no_nan"].judge(trial(PLAIN, made, "bwd")), "not finite zero")


def test_larger_tokens_are_allowed_what_their_scores_lose():
    from impls.mla._bounds import growth

    assert [growth(MlaWorkload(seq=1), scale) for scale in (0.5, 1.0, 4.0)] == [1, 1, 16]
    assert growth(MlaWorkload(seq=1, config="v3"), 4.0) == 4
    assert growth(MlaWorkload(seq=1, q_lora="on"), 4.0) == 4
    figures = judged(FAMILY, naive.naive, MlaWorkload(seq=20, input_scale=2.0)).figures
    assert figures["relative_rms_bound"] == 4 * 2e-5


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


def test_facts_report_the_cache_bytes_of_a_token():
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
