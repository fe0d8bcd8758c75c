"""The two contracts of the topk family, on answers written by hand."""

import numpy as np
import pytest

from harness.catalog.arrays import numpy_dtype
from impls.topk.family import FAMILY, TopkWorkload
from impls.topk.reference import largest
from tests.impls.judgements import assert_failed, assert_passed
from tests.impls.topk_case import judged, values_at


def small(dtype="f32"):
    """A workload of two rows, its scores and a right answer."""
    w = TopkWorkload(rows=2, seq=6, topk=3, recall=0.6, dtype=dtype)
    scores = np.array([[[5, 4, 3, 2, 1, 0], [0, 1, 1, 1, 2, 3]]]).astype(numpy_dtype(dtype))
    return w, scores, np.array([[[0, 1, 2], [5, 4, 1]]])


@pytest.mark.parametrize("indices", [[[0, 1, 2], [5, 4, 1]], [[2, 0, 1], [3, 5, 4]]])
def test_exact_contract_accepts_any_order_and_any_tie(indices):
    w, scores, _ = small()
    indices = np.array([indices])
    assert judged("exact", w, scores, values_at(scores, indices)).passed


@pytest.mark.parametrize("semantics", ["exact", "recall"])
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda v, i: v, "not a pair"),
        (lambda v, i: (v, i, i), "not a pair"),
        (lambda v, i: (v[..., :2], i[..., :2]), "shape"),
        (lambda v, i: (v, i.astype(np.float32)), "not integers"),
        (lambda v, i: (v, i - 1), "outside 0 … 5"),
        (lambda v, i: (v, i + 1), "outside 0 … 5"),
        (lambda v, i: (v[..., [0, 0, 2]], i[..., [0, 0, 2]]), "twice"),
        (lambda v, i: (v + 1, i), "not the score"),
        (lambda v, i: (v * np.nan, i), "not the score"),
    ],
)
def test_no_selection_fails_both_contracts(semantics, spoil, reason):
    w, scores, indices = small()
    assert_failed(judged(semantics, w, scores, spoil(*values_at(scores, indices))), reason)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_exact_contract_counts_what_is_not_among_the_largest(dtype):
    w, scores, indices = small(dtype)
    indices = np.array([[[0, 1, 5], [5, 4, 1]]])
    judgement = assert_failed(judged("exact", w, scores, values_at(scores, indices)))
    assert judgement.figures["mismatches"] == 1


def test_recall_contract_counts_shares_per_row_and_ties_once():
    w, scores, _ = small()
    # Row 0 misses 3; row 1 misses 3 and 2 and has three ones, of which one is among the largest.
    judgement = judged("recall", w, scores, values_at(scores, np.array([[[0, 1, 5], [1, 2, 3]]])))
    figures = judgement.figures
    assert figures["recall"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert figures["worst_row"] == pytest.approx(1 / 3)
    assert figures["value_recall"] == pytest.approx((9 + 3) / (12 + 6))
    assert figures["target"] == 0.6
    assert not judgement.passed
    # Student's t with one degree of freedom is 12.7 standard errors: the bounds end at 0 and 1.
    assert (figures["recall_low"], figures["recall_high"]) == (0.0, 1.0)


def test_recall_interval_is_students_t_over_rows():
    w = TopkWorkload(rows=4, seq=8, topk=2, recall=0.5)
    scores = np.tile(np.arange(8, dtype=np.float32), (1, 4, 1))
    indices = np.array([[[7, 6], [7, 6], [7, 0], [7, 6]]])
    figures = judged("recall", w, scores, values_at(scores, indices)).figures
    half = 3.182446 * np.std([1, 1, 0.5, 1], ddof=1) / 2
    assert figures["recall_low"] == pytest.approx(0.875 - half, abs=1e-6)
    assert figures["recall_high"] == 1.0


def test_one_row_has_no_interval():
    w = TopkWorkload(rows=1, seq=4, topk=1)
    scores = np.array([[[1.0, 2.0, 3.0, 4.0]]], np.float32)
    figures = judged("recall", w, scores, (scores[..., 3:], np.array([[[3]]]))).figures
    assert (figures["recall"], figures["recall_low"], figures["recall_high"]) == (1.0, None, None)


def test_value_recall_needs_a_positive_sum():
    w = TopkWorkload(rows=2, seq=4, topk=2, recall=0.5)
    scores = np.full((1, 2, 4), -np.inf, np.float32)
    scores[..., 0] = -1
    judgement = assert_passed(judged("recall", w, scores, values_at(scores, np.array([[[0, 1], [0, 3]]]))))
    assert judgement.figures["value_recall"] is None


def test_contracts_judge_chosen_rows():
    w = TopkWorkload(batch=2, rows=6, seq=64, topk=5)
    scores, rows = FAMILY.inputs(w, np.random.default_rng(0))["scores"], np.array([1, 5])
    whole = FAMILY.semantics["exact"].reference(w, None)(scores=scores.astype(np.float64))
    part = tuple(array[:, rows] for array in whole)
    assert judged("exact", w, scores, part, rows).passed
    assert judged("recall", w, scores, part, rows).passed
    assert not judged("exact", w, scores, tuple(array[:, :2] for array in whole), rows).passed
    assert FAMILY.rows(w) == 6


@pytest.mark.parametrize("scores", ["distinct", "tied", "no numbers", "infinite"])
def test_the_reference_selects_what_a_full_stable_sort_does(scores):
    drawn = np.random.default_rng(0).standard_normal((2, 3, 97))
    if scores == "tied":
        drawn = np.round(drawn)
    elif scores == "no numbers":
        drawn[:, :, 9:] = np.nan
    elif scores == "infinite":
        drawn[drawn > 0] = np.inf
    w = TopkWorkload(batch=2, rows=3, seq=97, topk=31)
    values, indices = largest(w, None)(drawn)
    assert np.array_equal(indices, np.argsort(-drawn, axis=-1, kind="stable")[..., :31])
    assert np.array_equal(values, np.take_along_axis(drawn, indices, axis=-1), equal_nan=True)
