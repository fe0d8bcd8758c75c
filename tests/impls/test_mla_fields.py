"""The fields that joined the mla workload later: every variant reads them, and nothing old changes."""

import math

import numpy as np
import pytest

from harness.catalog.arrays import walk
from impls.mla import family as mla
from impls.mla.family import FAMILY, MlaWorkload, cost
from tests.impls.mla_trial import NARROW, drawn
from tests.impls.torch_case import flat, run
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]

ALL = (V.naive, V.absorb, V.fast_path, V.naive_chunked, V.naive_sdpa, V.absorb_sdpa)
NAMES = [variant.name for variant in ALL]


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


def test_larger_tokens_are_the_same_tokens():
    once, twice = (drawn(MlaWorkload(seq=5, phase="decode", input_scale=s)) for s in (1.0, 2.0))
    assert np.array_equal(twice.pop("x"), 2 * once.pop("x"))
    for (name, a), (_, b) in zip(walk(once), walk(twice), strict=True):
        assert np.array_equal(a, b), name


def test_quantised_weights_are_a_quarter_of_f32():
    kept = {kind: cost(MlaWorkload(seq=1, weights=kind)) for kind in ("plain", "fp8_block")}
    assert kept["plain"].flops == kept["fp8_block"].flops
    linear = sum(math.prod(s) for s in mla.weight_shapes(NARROW["small"]).values() if len(s) > 1)
    saved = kept["plain"].bytes - kept["fp8_block"].bytes
    assert saved == 3 * linear - 4 * 5  # of four weights only wkv_b, with 160 rows, has two blocks


def test_the_cache_is_made_of_the_quantised_weight():
    w = MlaWorkload(seq=7, phase="decode", weights="fp8_block", dtype="f64")
    arrays = drawn(w)
    assert flat(FAMILY.shapes(w)) == flat(arrays)
    want = run(FAMILY.semantics["dense"].reference(w, None), arrays, wide=True)
    for variant in (V.naive, V.absorb):
        np.testing.assert_allclose(run(variant(w), arrays), want, atol=1e-12)


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
