"""Stages `indexer` and `attention` of the topk family: by hand, by contract, and with one mistake each."""

from dataclasses import replace

import numpy as np
import pytest

from impls.topk.family import FAMILY, TopkWorkload
from impls.topk.indexer._indexer import scores_at, scores_of
from tests.impls.jax_case import call
from tests.impls.judgements import assert_passed
from tests.impls.topk_case import drawn, values_at, verdict, wide
from tests.impls.variants import TOPK as V

INDEXER = TopkWorkload(stage="indexer", batch=2, rows=5, seq=300, topk=20, heads=8, head_dim=16)
ATTEND = replace(INDEXER, stage="attention", attention_heads=3, key_dim=12, value_dim=7)


def reference(w, inputs, rows=None):
    return FAMILY.semantics[w.stage].reference(w, rows)(**inputs)


def judged(w, inputs, result, semantics="", rows=None):
    return verdict(semantics or w.stage, w, inputs, result, rows)


def scores_by_hand(w, inputs):
    """Every published score, key by key."""
    q, k, weights = (wide(inputs)[name] for name in ("queries", "keys", "weights"))
    scale = w.heads**-0.5 * w.head_dim**-0.5
    scores = np.zeros((w.batch, w.rows, w.seq))
    for b, r, s in np.ndindex(scores.shape):
        for h in range(w.heads):
            scores[b, r, s] += weights[b, r, h] * scale * max(q[b, r, h] @ k[b, s], 0)
    return scores


def ranked(scores):
    return np.argsort(-scores, axis=-1, kind="stable")


def test_an_indexers_reference_follows_the_definition():
    inputs = drawn(INDEXER)
    scores = scores_by_hand(INDEXER, inputs)
    values, indices = reference(INDEXER, wide(inputs))
    assert np.array_equal(indices, ranked(scores)[..., :20])
    np.testing.assert_allclose(values, values_at(scores, indices)[0], rtol=1e-12)
    at, deviations = scores_at(INDEXER, inputs, None, indices)
    np.testing.assert_allclose(at, values, rtol=1e-12)
    assert (deviations > 0).all()
    parts = (wide(inputs)[name][0] for name in ("queries", "keys", "weights"))
    np.testing.assert_allclose(scores_of(INDEXER, *parts), scores[0], rtol=1e-12, atol=1e-14)


def test_attentions_reference_attends_what_its_indexer_selects():
    inputs = wide(drawn(ATTEND))
    out, values, indices = reference(ATTEND, inputs)
    selection = reference(
        replace(ATTEND, stage="indexer"), {n: inputs[n] for n in ("queries", "keys", "weights")}
    )
    assert np.array_equal(values, selection[0])
    assert np.array_equal(indices, selection[1])
    q, k, v = (inputs[name] for name in "qkv")
    for b, r, h in np.ndindex(2, 5, 3):
        seen = indices[b, r]
        weights = np.exp(k[b, seen, h] @ q[b, r, h] / 12**0.5)
        np.testing.assert_allclose(out[b, r, h], weights @ v[b, seen, h] / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize("w", [INDEXER, ATTEND], ids=["indexer", "attention"])
def test_chosen_rows_are_judged_separately_and_steps_do_not_matter(w, monkeypatch):
    inputs, rows = drawn(w), np.array([1, 4])
    whole = reference(w, wide(inputs))
    monkeypatch.setattr("impls.topk.reference.STEP_ROWS", 2)
    for chosen, of in ((None, slice(None)), (rows, rows)):
        for part, all_of_them in zip(reference(w, wide(inputs), chosen), whole, strict=True):
            np.testing.assert_allclose(part, all_of_them[:, of], rtol=1e-12)
    assert judged(w, inputs, tuple(part[:, rows] for part in whole), rows=rows).passed
    assert not judged(w, inputs, tuple(part[:, :2] for part in whole), rows=rows).passed


def wrong_indexer(rule, w, inputs):
    q, k, weights = (wide(inputs)[name] for name in ("queries", "keys", "weights"))
    likes = np.einsum("brhd,bsd->brhs", q, k)
    likes = likes if rule == "no ReLU" else np.maximum(likes, 0)
    weights = np.abs(weights) if rule == "unsigned weights" else weights
    scores = np.einsum("brh,brhs->brs", weights, likes)
    scores /= (w.heads * w.head_dim) ** 0.5
    scores = scores.astype(np.float16).astype(float) if rule == "rounded" else scores
    order = ranked(scores)[..., : w.topk + 1]
    if rule == "best but one":
        return values_at(scores, order[..., 1:])
    if rule == "last missed":
        return values_at(scores, np.delete(order, w.topk - 1, axis=-1))
    values, indices = values_at(scores, order[..., : w.topk])
    if rule == "one twice":
        indices[..., 0] = indices[..., 1]
    if rule == "no number":
        values[..., 3] = np.nan
    return values, indices


def wrong_attention(rule, w, inputs):
    out, values, indices = reference(w, wide(inputs))
    if rule == "no scale":
        out = reference(w, {**wide(inputs), "q": wide(inputs)["q"] * w.key_dim**0.5})[0]
    if rule == "next row's selection":
        values, indices = np.roll(values, 1, 1), np.roll(indices, 1, 1)
    if rule == "best one missed":
        _, more, at = reference(replace(w, topk=w.topk + 1), wide(inputs))
        values, indices = more[..., 1:], at[..., 1:]
    if rule == "one column closed":
        out[0, 0] = reference(replace(w, topk=w.topk - 1), wide(inputs))[0][0, 0]
    return out if rule == "no selection" else (out, values, indices)


RULES = [  # whose reason says so; none, and one that is wrong in no way
    *((INDEXER, rule, "rounding explains only") for rule in ("no ReLU", "unsigned weights", "rounded")),
    *((INDEXER, rule, "10 of the largest scores are missing") for rule in ("best but one", "last missed")),
    (INDEXER, "no number", "is nan"),
    (INDEXER, "one twice", "twice"),
    (ATTEND, "no scale", "result has relative RMS error"),
    (ATTEND, "one column closed", "result"),
    (ATTEND, "next row's selection", "rounding explains only"),
    (ATTEND, "best one missed", "missing"),
    (ATTEND, "no selection", "attended, values, indices"),
    (INDEXER, "none", ""),
    (ATTEND, "none", ""),
]


@pytest.mark.parametrize(("w", "rule", "reason"), RULES)
def test_a_wrong_answer_fails(w, rule, reason):
    inputs = drawn(w)
    wrong = wrong_indexer if w.stage == "indexer" else wrong_attention
    judgement = judged(w, inputs, wrong(rule, w, inputs))
    assert judgement.passed == (rule == "none")
    assert reason in judgement.reason


def test_recall_is_judged_by_what_was_found():
    inputs = drawn(INDEXER)
    w, more = (replace(INDEXER, recall=recall) for recall in (0.94, 0.96))
    missed = wrong_indexer("last missed", w, inputs)
    assert not judged(w, inputs, missed).passed
    figures = assert_passed(judged(w, inputs, missed, "indexer_recall")).figures
    assert [figures["recall"], figures["worst_row"]] == pytest.approx([0.95, 0.95])
    assert not judged(more, inputs, missed, "indexer_recall").passed
    assert not judged(w, inputs, wrong_indexer("no ReLU", w, inputs), "indexer_recall").passed


@pytest.mark.jax
def test_an_approximate_selection_keeps_as_much_attention_as_columns():
    """4096 buckets of two contain all of 8192 scores; keys are independent of the indexer's scores."""
    for seq in (8192, 16384):
        w = replace(ATTEND, batch=1, rows=8, seq=seq, topk=1024, recall=0.95)
        inputs = drawn(w)
        result = call(V.attention_approx, w, inputs, select="two_stage")
        figures = assert_passed(judged(w, inputs, result, "attention_recall")).figures
        assert figures["attention_mass"] == pytest.approx(figures["recall"], abs=0.01)
        assert (figures["recall"] == 1) == (seq == 8192)
        assert judged(w, inputs, result).passed == (seq == 8192)


def test_rounding_may_decide_between_keys_that_it_cannot_tell_apart():
    """Two keys of equal score at the cutoff: either passes; a third with a slightly lower score fails."""
    w = replace(INDEXER, batch=1, rows=1)
    inputs = drawn(w)
    order = ranked(scores_by_hand(w, inputs))[0, 0]
    last, refused = order[w.topk - 1], order[w.topk]
    assert not judged(w, inputs, wrong_indexer("last missed", w, inputs)).passed
    inputs["keys"][0, refused] = inputs["keys"][0, last]
    for rule in ("none", "last missed"):
        assert judged(w, inputs, wrong_indexer(rule, w, inputs)).passed
    inputs["keys"][0, refused] *= np.float32(1 - 2**-12)
    assert not judged(w, inputs, wrong_indexer("last missed", w, inputs)).passed


@pytest.mark.jax
def test_a_score_moves_by_less_than_is_allowed():
    """Errors of scores in f32, summed in three orders, stay within two deviations; six are allowed."""
    w = replace(INDEXER, head_dim=64, topk=299)
    inputs = drawn(w)
    q, k, weights = (inputs[name] for name in ("queries", "keys", "weights"))
    scale = np.float32((w.heads * w.head_dim) ** -0.5)
    one = np.einsum("brh,brhs->brs", weights, np.maximum(np.einsum("brhd,bsd->brhs", q, k), 0)) * scale
    running = np.maximum(np.cumsum(q[:, :, :, None] * k[:, None, None], -1)[..., -1], 0)
    running = np.cumsum(weights[..., None] * scale * running, 2)[:, :, -1]
    results = [values_at(scores, ranked(scores)[..., : w.topk]) for scores in (one, running)]
    for result in (*results, call(V.indexer_exact, w, inputs)):
        assert result[0].dtype == np.float32
        assert 0 < judged(w, inputs, result).figures["largest_error_of_allowed"] < 2 / 6
