"""The causal mask before the selection and after it: where the variants agree, and where they cannot."""

import numpy as np
import pytest

from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.masked_again import INDEXED, SCORED, masked_again
from impls.mask.reference import closed_value, last_visible, visible
from tests.impls.jax_case import call
from tests.impls.judgements import assert_failed, assert_passed
from tests.impls.mask_case import drawn, judged, reference

ALL = {**INDEXED, **SCORED}


def crafted(w, scores):
    """The family's inputs for given scores: hidden ones closed, and the selection of what is left."""
    hidden = np.where(visible(w, np.arange(w.rows)), np.asarray([scores], np.float32), closed_value("f32"))
    order = np.argsort(-hidden, axis=-1, kind="stable")[..., : w.topk].astype(np.int32)
    values = np.take_along_axis(hidden, order, axis=-1)
    return {"scores": hidden, "topk_values": values, "topk_indices": order}


@pytest.mark.jax
def test_variants_agree_after_and_not_before():
    """Row 0 sees one column and selects three: raw opens all six, the others two hidden ones."""
    w = MaskWorkload(rows=6, seq=6, topk=3, causal=True)
    inputs = crafted(w, np.random.default_rng(5).standard_normal((6, 6)))
    before = {of: call(ALL[of], w, inputs) == 0 for of in ALL}
    assert before["threshold_raw"][0, 0].all()
    assert all(np.array_equal(before[of], before["broadcast"]) for of in before.keys() - {"threshold_raw"})
    assert before["scatter"][0, 0].tolist() == [True, True, True, False, False, False]
    after = {of: call(masked_again, w, inputs, of=of) == 0 for of in ALL}
    for of, kept in after.items():
        assert np.array_equal(kept, after["broadcast"]), of
    assert after["broadcast"].sum(axis=-1).tolist() == [[1, 2, 3, 3, 3, 3]]


@pytest.mark.jax
@pytest.mark.parametrize("of", ALL)
def test_without_the_second_time_the_contract_fails(of):
    w = MaskWorkload(rows=6, seq=6, topk=3, causal=True)
    inputs = crafted(w, np.random.default_rng(5).standard_normal((6, 6)))
    assert_failed(judged("masked_again", w, inputs, call(ALL[of], w, inputs)), "to be closed")


@pytest.mark.jax
@pytest.mark.parametrize(
    ("of", "kept", "over"),
    [("scatter", [0, 1], 0), ("threshold_exactk", [0, 1], 0), ("threshold_raw", [0, 1, 2], 1)],
)
def test_raw_opens_all_visible_columns_that_tie(of, kept, over):
    """Columns 1 and 2 tie for the second place; 4 and 5 score more and are hidden from row 0."""
    w = MaskWorkload(rows=2, seq=8, topk=2, causal=True)
    scores = [0.9, 0.5, 0.5, 0.1, 0.5, 2.0, 3.0, 0.0]
    inputs = crafted(w, [scores, scores])
    again = reference("masked_again", w, inputs)[0].tolist()
    assert again == [[1, 2, 2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0]]
    result = call(masked_again, w, inputs, of=of)
    assert np.flatnonzero(result[0, 0] == 0).tolist() == kept
    judgement = assert_passed(judged("masked_again", w, inputs, result))
    assert judgement.figures == {"mismatches": 0, "tied_rows": 1, "rows_over_topk": over}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({(0, 1): -1}, "either"),
        ({(0, 1): float("-inf")}, "fewer than topk 2"),
        ({(0, 0): float("-inf")}, "to be open"),
        ({(0, 3): 0}, "to be closed"),
        ({(1, 0): -1e30}, "to be closed"),
        ({(1, 0): float("nan")}, "to be closed"),
    ],
)
def test_the_contract_catches(change, says):
    w = MaskWorkload(rows=2, seq=8, topk=2, causal=True)
    scores = [0.9, 0.5, 0.5, 0.1, 0.5, 2.0, 3.0, 0.0]
    inputs = crafted(w, [scores, scores])
    mask = np.full((1, 2, 8), -np.inf, np.float32)
    mask[0, 0, [0, 1]] = mask[0, 1, [5, 6]] = 0
    assert judged("masked_again", w, inputs, mask).passed
    for (row, column), value in change.items():
        mask[0, row, column] = value
    assert_failed(judged("masked_again", w, inputs, mask), says)
    assert not judged("masked_again", w, inputs, mask[..., :7]).passed


@pytest.mark.jax
def test_rounded_visible_scores_tie_so_raw_is_over():
    w = MaskWorkload(rows=4, seq=16384, topk=1024, dtype="bf16", causal=True)
    inputs = drawn(w, 0)
    masks = [call(masked_again, w, inputs, of=of) for of in ("threshold_raw", "scatter")]
    raw, exact = (judged("masked_again", w, inputs, mask) for mask in masks)
    assert raw.passed
    assert exact.passed
    assert raw.figures["rows_over_topk"] == raw.figures["tied_rows"] > 0
    assert exact.figures["rows_over_topk"] == 0


def test_queries_lie_evenly_and_the_last_at_the_end():
    assert last_visible(MaskWorkload(rows=4, seq=10, topk=1)).tolist() == [1, 4, 6, 9]
    assert last_visible(MaskWorkload(rows=6, seq=6, topk=1)).tolist() == [0, 1, 2, 3, 4, 5]


def test_causal_scores_are_the_others_with_the_hidden_ones_closed():
    plain, causal = (MaskWorkload(rows=4, seq=64, topk=9, dtype="bf16", causal=c) for c in (False, True))
    drawn, hidden = (FAMILY.inputs(w, np.random.default_rng(0))["scores"] for w in (plain, causal))
    seen = visible(causal, np.arange(4))
    assert np.array_equal(hidden[:, seen], drawn[:, seen])
    assert (hidden[:, ~seen] == closed_value("bf16")).all()
    assert drawn.dtype == hidden.dtype
