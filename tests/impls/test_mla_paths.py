"""Fused, chunked and short paths of mla: what they store, #684's printed lines, and the wrong path."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from impls.mla.as_printed import as_printed
from impls.mla.family import FAMILY, MlaWorkload
from impls.mla.flex import causal_blocks
from tests.impls.judgements import assert_failed, judged
from tests.impls.mla_trial import CHECKS, attend_of, drawn, trial
from tests.impls.torch_case import Option, operators, run
from tests.impls.variants import MLA as V

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]


def shapes_seen(variant, w):
    """Shapes of all arguments of a forward's operators, without axes of length one."""
    _, seen = operators(variant, FAMILY, w)
    return {tuple(sorted(n for n in shape if n > 1)) for _, shapes in seen for shape in shapes}


def test_scores_are_stored_in_part_or_not_at_all():
    w = MlaWorkload(seq=300)
    stored = (4, 300, 300)
    assert stored in shapes_seen(V.naive, w)
    assert stored in shapes_seen(Option(V.naive_chunked, chunk=300), w)
    assert stored in shapes_seen(V.absorb, w)
    for variant in (V.absorb_sdpa, Option(V.naive_sdpa, backend="flash"), Option(V.naive_chunked, chunk=64)):
        assert stored not in shapes_seen(variant, w)
    assert (4, 44, 300) in shapes_seen(Option(V.naive_chunked, chunk=64), w)  # 300 = 4 · 64 + 44


@pytest.mark.parametrize("config", ["small", "v3"])
@pytest.mark.parametrize("fields", [{"seq": 1}, {"seq": 2, "causal": False}, {"seq": 256, "causal": False}])
def test_the_claimed_fast_path_is_wrong_where_it_is_taken(config, fields):
    w = MlaWorkload(config=config, dtype="bf16", **fields)
    assert V.claimed_fast_path.expect.when(w)
    for seed in range(3):
        judgement = assert_failed(judged(FAMILY, V.claimed_fast_path, w, seed=seed))
        assert judgement.figures["relative_rms"] > 0.5  # unrelated, not imprecise
    assert not judged(FAMILY, V.claimed_fast_path, w, backward=True).passed
    assert judged(FAMILY, V.fast_path, w).passed


@pytest.mark.parametrize("fields", [{"seq": 2}, {"seq": 256}, {"seq": 257, "causal": False}])
def test_elsewhere_the_claimed_fast_path_is_naive(fields):
    w = MlaWorkload(**fields)
    assert not V.claimed_fast_path.expect.when(w)
    assert attend_of(V.claimed_fast_path(w)) is attend_of(V.naive(w))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.parametrize("seq", [1, 127, 128, 129, 300, 700])
def test_flexs_list_of_blocks_is_the_causal_mask(seq):
    """The mask that torch finds by evaluating it everywhere covers the implementation's own."""
    from torch.nn.attention.flex_attention import create_block_mask

    found = create_block_mask(lambda _b, _h, i, j: i >= j, None, None, seq, seq, device="cpu")
    assert (causal_blocks(seq, "cpu").to_dense() == found.to_dense()).all()


def test_content_does_not_affect_the_claimed_scores():
    """Content rows of `wq` for queries, as it reads them, change nothing; in the right path they do."""
    w = MlaWorkload(seq=20, causal=False)
    c, inputs = w.widths, drawn(w)
    before = {variant.name: run(variant(w), inputs) for variant in (V.claimed_fast_path, V.fast_path)}
    rows = inputs["weights"]["wq"].reshape(c.heads, c.rope + c.nope, c.dim).copy()
    rows[:, c.rope :] += 1
    inputs["weights"] = {**inputs["weights"], "wq": rows.reshape(-1, c.dim)}
    assert np.array_equal(run(V.claimed_fast_path(w), inputs), before["claimed_fast_path"])
    assert not np.allclose(run(V.fast_path(w), inputs), before["fast_path"], atol=1e-2)


LINES = ("before", "after")
DEVICE = "prim.device.default"  # a query of the tracer, not an operator
DTYPES = ("f64", "f32", "bf16", "f16")


def under(lines):
    return replace(as_printed, builder=partial(as_printed.builder, lines=lines))


@pytest.mark.parametrize("seq", [1, 64, 256])
def test_in_f32_both_are_one_program(seq):
    w = MlaWorkload(seq=seq, causal=False)
    before, after = (operators(under(lines), FAMILY, w)[1] for lines in LINES)
    assert [one for one in before if one[0] != DEVICE] == [one for one in after if one[0] != DEVICE]
    assert any(name.startswith("aten._softmax") for name, _ in after)


def test_an_error_of_another_kind_is_not_taken_for_it():
    w = MlaWorkload(seq=9, causal=False)
    inputs = drawn(w)
    inputs["weights"]["wkv_a"] = inputs["weights"]["wkv_a"][:, 1:]
    with pytest.raises(RuntimeError, match="shape"):
        run(as_printed(w), inputs)


@pytest.mark.parametrize(
    ("lines", "dtype"), [("after", "f32"), *(("before", dtype) for dtype in DTYPES)], ids=lambda given: given
)
def test_the_check_tries_all_dtypes_whatever_its_own(lines, dtype):
    w = MlaWorkload(seq=40, causal=False, dtype=dtype)
    verdict = CHECKS["dtypes"].judge(trial(w, under(lines)))
    assert verdict.passed == (lines == "before")
    assert bool(as_printed.fails(w, {"lines": lines})) == (lines == "after")
    failed = {name for name in DTYPES if f"{name}: in {name} torch raises" in verdict.reason}
    assert failed == ({"f64", "bf16", "f16"} if lines == "after" else set())


def test_it_applies_only_to_named_ones():
    assert not CHECKS["dtypes"].concerns("dense", "fwd", (), MlaWorkload(seq=40), name="naive")
    for other in (MlaWorkload(seq=40, phase="decode"), MlaWorkload(seq=40, weights="fp8_block")):
        assert not CHECKS["dtypes"].concerns("dense", "fwd", (), other, name="fast_path")
