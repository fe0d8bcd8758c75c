"""Stage `attention` of the topk family: by hand, by its contracts, and broken in one way at a time."""

from dataclasses import replace

import numpy as np
import pytest

from impls.topk.family import FAMILY, TopkWorkload, cost
from tests.impls.jax_case import call
from tests.impls.judgements import assert_passed
from tests.impls.topk_case import drawn, verdict, wide
from tests.impls.variants import TOPK as V

SMALL = TopkWorkload(
    stage="attention",
    batch=2,
    rows=5,
    seq=300,
    topk=20,
    heads=8,
    head_dim=16,
    attention_heads=3,
    key_dim=12,
    value_dim=7,
)


def judged(w, inputs, result, semantics="attention", rows=None):
    return verdict(semantics, w, inputs, result, rows)


def test_the_reference_attends_what_it_selects():
    arrays = drawn(SMALL)
    out, values, indices = FAMILY.semantics["attention"].reference(SMALL, None)(**wide(arrays))
    selection = FAMILY.semantics["indexer"].reference(replace(SMALL, stage="indexer"), None)
    index = {name: wide(arrays)[name] for name in ("queries", "keys", "weights")}
    assert np.array_equal(indices, selection(**index)[1])
    assert np.array_equal(values, selection(**index)[0])
    q, k, v = (wide(arrays)[name] for name in "qkv")
    for b, r, h in np.ndindex(2, 5, 3):
        seen = np.isin(np.arange(300), indices[b, r])
        logits = np.where(seen, k[b, :, h] @ q[b, r, h] / 12**0.5, -np.inf)
        weights = np.exp(logits - logits.max())
        np.testing.assert_allclose(out[b, r, h], weights @ v[b, :, h] / weights.sum(), rtol=1e-12)


@pytest.mark.jax
def test_both_masks_give_one_result_bit_for_bit():
    arrays = drawn(SMALL)
    scattered, compared = (call(V.attention_exact, SMALL, arrays, mask=m) for m in ("scatter", "broadcast"))
    for left, right in zip(scattered, compared, strict=True):
        assert np.array_equal(left, right)


@pytest.mark.jax
def test_an_approximate_selection_is_judged_by_its_recall_and_keeps_as_much_attention():
    w = replace(SMALL, batch=1, rows=8, seq=8192, topk=1024, recall=0.95)
    arrays = drawn(w)
    result = call(V.attention_approx, w, arrays, select="two_stage")
    judgement = assert_passed(judged(w, arrays, result, "attention_recall"))
    figures = judgement.figures
    assert figures["recall"] == 1.0  # 4096 buckets of two hold all 8192 scores
    assert figures["attention_mass"] == pytest.approx(1.0)
    half = replace(w, seq=16384)
    arrays = drawn(half)
    figures = judged(
        half, arrays, call(V.attention_approx, half, arrays, select="two_stage"), "attention_recall"
    )
    assert 0.95 < figures.figures["recall"] < 1
    # Keys know nothing of the indexer's scores, so as much attention is lost as columns are.
    assert figures.figures["attention_mass"] == pytest.approx(figures.figures["recall"], abs=0.01)
    assert not judged(half, arrays, call(V.attention_approx, half, arrays, select="two_stage")).passed


def broken(rule, w, arrays):
    """The reference's answer, wrong in one way."""
    out, values, indices = FAMILY.semantics["attention"].reference(w, None)(**wide(arrays))
    attended = FAMILY.semantics["attention"].reference
    if rule == "all columns attended":
        out = attended(replace(w, topk=w.seq - 1), None)(**wide(arrays))[0]
    if rule == "no scale":
        out = attended(w, None)(**{**wide(arrays), "q": wide(arrays)["q"] * w.key_dim**0.5})[0]
    if rule == "next row's result":
        out = np.roll(out, 1, 1)
    if rule == "next row's selection":
        values, indices = np.roll(values, 1, 1), np.roll(indices, 1, 1)
    if rule == "best one missed":
        less = attended(replace(w, topk=w.topk + 1), None)(**wide(arrays))
        values, indices = less[1][..., 1:], less[2][..., 1:]
    if rule == "one column closed":
        out = out.copy()
        out[0, 0] = attended(replace(w, topk=w.topk - 1), None)(**wide(arrays))[0][0, 0]
    if rule == "no selection":
        return out
    return out, values, indices


RULES = {
    "none": "",
    "all columns attended": "result is off",
    "no scale": "result is off",
    "next row's result": "result is off",
    "one column closed": "result",
    "next row's selection": "rounding moves it",
    "best one missed": "missing",
    "no selection": "no triple",
}


@pytest.mark.parametrize(("rule", "reason"), RULES.items())
def test_a_wrong_answer_fails(rule, reason):
    arrays = drawn(SMALL)
    judgement = judged(SMALL, arrays, broken(rule, SMALL, arrays))
    assert judgement.passed == (rule == "none"), judgement.reason
    assert reason in judgement.reason


def test_chosen_rows_are_judged_alone():
    arrays, rows = drawn(SMALL), np.array([1, 4])
    whole = broken("none", SMALL, arrays)
    assert judged(SMALL, arrays, tuple(part[:, rows] for part in whole), rows=rows).passed
    assert not judged(SMALL, arrays, tuple(part[:, :2] for part in whole), rows=rows).passed


def test_cost_is_of_the_selected_columns_beside_the_indexers():
    made = FAMILY.cost_of("attention", SMALL)
    index = FAMILY.cost_of("indexer", replace(SMALL, stage="indexer"))
    assert made.flops - index.flops == 2 * 2 * 5 * 20 * 3 * (12 + 7)
    assert made.dense_flops == 2 * 2 * 5 * 300 * 3 * (12 + 7)
    assert made.bytes - index.bytes == 4 * 2 * 3 * (5 * 12 + 300 * (12 + 7) + 5 * 7)
    assert cost(TopkWorkload(seq=4096)).flops is None
