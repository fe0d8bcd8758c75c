"""The mask family: its inputs and references, and implementations with crafted selections."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness import cast
from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.reference import closed_value, last_visible, visible
from tests.impls import judgements
from tests.impls.jax_case import call
from tests.impls.judgements import assert_failed, assert_passed, verdict
from tests.impls.torch_case import named, tensor
from tests.impls.variants import MASK as V
from tests.impls.variants import labelled

pytestmark = [pytest.mark.jax, pytest.mark.torch]
CRAFTED = yaml.safe_load(Path(__file__).with_name("mask.yaml").read_text())


drawn = partial(judgements.drawn, FAMILY, seed=7)


def reference(semantics, w, inputs, rows=None):
    """The reference's answer; floating-point inputs are converted to double precision."""
    function = FAMILY.semantics[semantics].reference(w, rows)
    wide = {name: a if a.dtype.kind == "i" else a.astype(np.float64) for name, a in inputs.items()}
    return function(**named(function, wide))


judged = partial(verdict, FAMILY)


def columns(form, seq):
    """The open columns of every row, from a mask, from words or from blocks."""
    if isinstance(form, dict):
        inside = form["inside"]
        assert np.array_equal(form["held"], inside.any(axis=-1))
        bits = inside.reshape(-1, inside.shape[-2] * inside.shape[-1])
    elif form.dtype == np.uint32:
        little = form.reshape(-1, form.shape[-1]).astype("<u4").view(np.uint8)
        bits = np.unpackbits(little, axis=-1, bitorder="little")
    else:
        return [np.flatnonzero(row == 0).tolist() for row in form.reshape(-1, form.shape[-1])]
    assert not bits[:, seq:].any()
    return [np.flatnonzero(row).tolist() for row in bits]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_inputs_are_the_selection_of_lax_top_k(dtype):
    import jax

    w = MaskWorkload(batch=2, rows=4, seq=4096, topk=300, dtype=dtype)
    inputs = drawn(w, seed=3)
    with jax.enable_x64(dtype == "f64"):
        values, indices = jax.lax.top_k(inputs["scores"], w.topk)
        assert np.array_equal(inputs["topk_indices"], np.asarray(indices))
        assert np.array_equal(inputs["topk_values"], np.asarray(values))


def test_causal_scores_are_the_others_with_the_hidden_ones_closed():
    plain, causal = (MaskWorkload(rows=4, seq=64, topk=9, dtype="bf16", causal=c) for c in (False, True))
    open_, hidden = (drawn(w)["scores"] for w in (plain, causal))
    seen = visible(causal, np.arange(4))
    assert np.array_equal(hidden[:, seen], open_[:, seen])
    assert (hidden[:, ~seen] == closed_value("bf16")).all()
    for rows, last in ((4, [1, 4, 6, 9]), (10, [*range(10)])):
        assert last_visible(MaskWorkload(rows=rows, seq=10, topk=1)).tolist() == last


@pytest.mark.parametrize("semantics", FAMILY.semantics)
def test_reference_on_some_rows_is_part_of_the_whole(semantics):
    again = semantics == "masked_again"
    w = MaskWorkload(batch=2, rows=6, seq=300, topk=9, head_dim=5, dtype="bf16", causal=again)
    inputs, rows = drawn(w), np.array([0, 4, 5])
    whole, part = (reference(semantics, w, inputs, chosen) for chosen in (None, rows))
    pairs = [(part[n], whole[n]) for n in whole] if semantics == "blocks" else [(part, whole)]
    for got, want in pairs:
        assert np.array_equal(got, want[:, rows])
        assert want.shape[1] == FAMILY.rows(w)


@pytest.mark.parametrize(
    ("dtype", "value"), [("f32", -2.3819764e38), ("bf16", -2.37932e38), ("f64", -2.3819763e38)]
)
def test_closed_value(dtype, value):
    assert float(closed_value(dtype)) == pytest.approx(value, rel=1e-6)
    assert closed_value(dtype) == cast(np.float64(-0.7) * np.finfo(np.float32).max, dtype)


def crafted(scores, topk, *, causal=False):
    """The workload and inputs for given scores: hidden ones closed, and the selection from the others."""
    import jax

    scores = np.atleast_2d(np.asarray(scores, np.float32))[None]
    scores[np.isnan(scores)] = np.nan  # yaml's has a sign
    w = MaskWorkload(rows=scores.shape[1], seq=scores.shape[2], topk=topk, causal=causal)
    if causal:
        scores = np.where(visible(w, np.arange(w.rows)), scores, closed_value("f32"))
    values, indices = jax.lax.top_k(scores, topk)
    return w, {"scores": scores, "topk_values": np.asarray(values), "topk_indices": np.asarray(indices)}


@pytest.mark.parametrize("case", CRAFTED, ids=lambda case: str(case.get("scores") or case["indices"])[:40])
def test_crafted_selections_open_these_columns(case):
    indices = np.array([[case["indices"]]], np.int32) if "indices" in case else None
    if "scores" in case:
        topk = case.get("topk") or indices.size
        w, inputs = crafted(case["scores"], topk, causal=case.get("causal", False))
    else:
        w, inputs = MaskWorkload(rows=1, seq=case["seq"], topk=indices.size), {}
    if indices is not None:
        values = np.array([[case.get("values", [0] * indices.size)]], np.float32)
        inputs |= {"topk_indices": indices, "topk_values": values}
    for labels, opened in case["open"].items():
        for label in labels.split():
            variant, options = labelled("mask", label)
            assert columns(call(variant, w, inputs, **options), w.seq) == opened, label
            if w.causal:
                verdict = judged("masked_again", w, inputs, call(variant, w, inputs, **options))
                assert verdict.passed == label.startswith("masked_again")


SEQ = 45
W = MaskWorkload(rows=2, seq=SEQ, topk=5)
ROW = st.lists(st.integers(-2 * SEQ, 2 * SEQ), min_size=5, max_size=5)
GUARDED = (
    *(f"broadcast_chunked[chunk={chunk}]" for chunk in (1, 2, 5)),
    *("onehot_gemm", "onehot_gemm[width=7]", "onehot_gemm[width=9999]"),
    *("broadcast", "scatter_sorted", "bit_packed", "block_granular"),
)


def open_columns(label, indices):
    variant, options = labelled("mask", label)
    return [set(row) for row in columns(call(variant, W, {"topk_indices": indices}, **options), SEQ)]


@settings(max_examples=25, deadline=None)
@given(first=ROW, second=ROW)
@example(first=[-1, -SEQ, -SEQ - 1, SEQ, SEQ + 1], second=[2, 63, 64, 127, 128])  # ends of words and blocks
@example(first=[3, 3, 3, 3, 3], second=[31, 31, 32, 32, 999])
def test_only_columns_of_the_row_open_once_but_scatters_wrap(first, second):
    """`scatter` stays in the row; `scatter_flat` does not: −1 of the first row is the last of the last."""
    indices = np.array([[first, second]], np.int32)
    inside = [{i for i in row if 0 <= i < SEQ} for row in (first, second)]
    for label in GUARDED:
        assert open_columns(label, indices) == inside, label
    if all(len(set(row)) == 5 for row in (first, second)):
        assert open_columns("bit_packed[unique=true]", indices) == inside
    assert open_columns("scatter", indices) == [
        {i % SEQ for i in row if -SEQ <= i < SEQ} for row in (first, second)
    ]
    flat = [i + begin for row, begin in ((first, 0), (second, SEQ)) for i in row]
    places = {place % (2 * SEQ) for place in flat if -2 * SEQ <= place < 2 * SEQ}
    assert open_columns("scatter_flat", indices) == [
        {place - begin for place in places if 0 <= place - begin < SEQ} for begin in (0, SEQ)
    ]


@pytest.mark.parametrize("index", [-1, -8, 8])
def test_torch_scatter_raises_outside_the_row(index):
    w = MaskWorkload(rows=1, seq=8, topk=2)
    with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
        V.torch_scatter(w)(tensor(np.array([[[2, index]]], np.int32)))


def test_words_known_by_heart():
    w = MaskWorkload(rows=1, seq=70, topk=4)
    indices = np.array([[[33, 0, 31, 69]]], np.int32)
    assert call(V.bit_packed, w, {"topk_indices": indices}).tolist() == [[[0x8000_0001, 0x2, 0x20]]]


TIES = [[0.9, 0.5, 0.5, 0.1, 0.5, 2.0, 3.0, 0.0]] * 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({(0, 1): -1}, "either"),
        ({(0, 1): float("-inf")}, "fewer than topk 2"),
        ({(0, 0): float("-inf")}, "expected open"),
        ({(0, 3): 0}, "expected closed"),
        ({(1, 0): -1e30}, "expected closed"),
        ({(1, 0): float("nan")}, "expected closed"),
    ],
)
def test_the_contract_of_a_mask_that_is_masked_again_catches(change, says):
    w, inputs = crafted(TIES, 2, causal=True)
    assert reference("masked_again", w, inputs)[0].tolist() == [
        [1, 2, 2, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 1, 0],
    ]
    mask = np.full((1, 2, 8), -np.inf, np.float32)
    mask[0, 0, [0, 1]] = mask[0, 1, [5, 6]] = 0
    figures = assert_passed(judged("masked_again", w, inputs, mask)).figures
    assert figures == {"mismatches": 0, "tied_rows": 1, "rows_over_topk": 0}
    for (row, column), value in change.items():
        mask[0, row, column] = value
    assert_failed(judged("masked_again", w, inputs, mask), says)
    assert not judged("masked_again", w, inputs, mask[..., :7]).passed


def test_rounded_visible_scores_tie_so_raw_is_over():
    w = MaskWorkload(rows=4, seq=16384, topk=1024, dtype="bf16", causal=True)
    inputs = drawn(w, seed=0)
    masks = [call(V.masked_again, w, inputs, of=of) for of in ("threshold_raw", "scatter")]
    raw, exact = (assert_passed(judged("masked_again", w, inputs, mask)) for mask in masks)
    assert raw.figures["rows_over_topk"] == raw.figures["tied_rows"] > 0
    assert exact.figures["rows_over_topk"] == 0


def test_leaving_the_mask_out_fails_the_contract():
    w = MaskWorkload(rows=4, seq=256, topk=200, head_dim=16, dtype="bf16")
    inputs = drawn(w)
    every = np.broadcast_to(np.arange(256, dtype=np.int32), (1, 4, 256))
    result = call(V.gather_kv, replace(w, topk=256), {**inputs, "topk_indices": every})
    assert not judged("attended", w, inputs, result).passed


@pytest.mark.parametrize(
    ("indices", "values", "gathered", "masked"),
    [
        ([5], [0, 0, 0, 0, 0, 9, 0, 0], 9, 9),  # attention to a single column is its value
        ([1, 1, 2], [9, 6, 0, 9], 4, 3),  # without a mask a duplicate counts twice
        *(([1, i], [4, 6, 8, 10], g, m) for i, g, m in [(-1, 8, 8), (-4, 5, 5)]),
        *(([1, i], [4, 6, 8, 10], np.nan, 6) for i in (4, -5, 99)),
    ],
)
def test_attention_over_a_crafted_selection_whose_logits_are_equal(indices, values, gathered, masked):
    w = MaskWorkload(rows=1, seq=len(values), topk=len(indices), head_dim=1)
    inputs = {
        "topk_indices": np.array([[indices]], np.int32),
        "queries": np.zeros((1, 1, 1), np.float32),
        "keys": np.ones((1, len(values), 1), np.float32),
        "values": np.array(values, np.float32)[None, :, None],
    }
    assert call(V.gather_kv, w, inputs).item() == pytest.approx(gathered, nan_ok=True)
    assert call(V.masked_dense, w, inputs).item() == pytest.approx(masked)
