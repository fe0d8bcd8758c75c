"""Stage `indexer` of the topk family: its scores by hand, its contracts, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from impls.topk.family import FAMILY, TopkWorkload
from impls.topk.indexer._indexer import scores_at, scores_of
from impls.topk.indexer.indexer_exact import indexer_exact
from tests.impls.jax_case import call
from tests.impls.topk_case import drawn, values_at, verdict, wide

SMALL = TopkWorkload(stage="indexer", batch=2, rows=5, seq=300, topk=20, heads=8, head_dim=16)


def judged(w, inputs, result, semantics="indexer", rows=None):
    return verdict(semantics, w, inputs, result, rows)


def by_hand(w, inputs):
    """Every score as it is published, key by key."""
    q, k, weights = (wide(inputs)[name] for name in ("queries", "keys", "weights"))
    scale = w.heads**-0.5 * w.head_dim**-0.5
    scores = np.zeros((w.batch, w.rows, w.seq))
    for b, r, s in np.ndindex(scores.shape):
        for h in range(w.heads):
            scores[b, r, s] += weights[b, r, h] * scale * max(q[b, r, h] @ k[b, s], 0)
    return scores


def ranked(scores):
    return np.argsort(-scores, axis=-1, kind="stable")


def test_the_reference_follows_the_definition():
    inputs = drawn(SMALL)
    scores = by_hand(SMALL, inputs)
    values, indices = FAMILY.semantics["indexer"].reference(SMALL, None)(**wide(inputs))
    assert np.array_equal(indices, ranked(scores)[..., :20])
    np.testing.assert_allclose(values, values_at(scores, indices)[0], rtol=1e-12)
    at, deviations = scores_at(SMALL, inputs, None, indices)
    np.testing.assert_allclose(at, values, rtol=1e-12)
    assert (deviations > 0).all()


def test_the_reference_gives_single_rows_and_steps_do_not_show(monkeypatch):
    inputs, rows = wide(drawn(SMALL)), np.array([0, 2, 4])
    reference = FAMILY.semantics["indexer"].reference
    whole = reference(SMALL, None)(**inputs)
    monkeypatch.setattr("impls.topk.reference.STEP_ROWS", 2)
    for chosen in (None, rows):
        part = reference(SMALL, chosen)(**inputs)
        picked = slice(None) if chosen is None else chosen
        assert np.array_equal(part[1], whole[1][:, picked])
        np.testing.assert_allclose(part[0], whole[0][:, picked], rtol=1e-12)


@pytest.mark.jax
def test_chosen_rows_are_judged_alone():
    inputs, rows = drawn(SMALL), np.array([1, 4])
    values, indices = call(indexer_exact, SMALL, inputs)
    assert judged(SMALL, inputs, (values[:, rows], indices[:, rows]), rows=rows).passed
    assert not judged(SMALL, inputs, (values[:, :2], indices[:, :2]), rows=rows).passed


def broken(rule, w, inputs):
    """The answer of an indexer that is wrong in one way."""
    q, k, weights = (wide(inputs)[name] for name in ("queries", "keys", "weights"))
    likes = np.einsum("brhd,bsd->brhs", q, k)
    likes = likes if rule == "no ReLU" else np.maximum(likes, 0)
    weights = np.abs(weights) if rule == "unsigned weights" else weights
    if rule == "one head less":
        likes[:, :, -1] = 0
    scores = np.einsum("brh,brhs->brs", weights, likes)
    scores = scores if rule == "no scale" else scores / (w.heads * w.head_dim) ** 0.5
    scores = scores.astype(np.float16).astype(float) if rule == "rounded" else scores
    order = ranked(scores)[..., : w.topk + 1]
    if rule == "best but one":
        return values_at(scores, order[..., 1:])
    if rule == "last missed":
        return values_at(scores, np.delete(order, w.topk - 1, axis=-1))
    values, indices = values_at(scores, order[..., : w.topk])
    if rule == "next row's":
        return np.roll(values, 1, 1), np.roll(indices, 1, 1)
    if rule == "one twice":
        indices[..., 0] = indices[..., 1]
    if rule == "no number":
        values[..., 3] = np.nan
    return values, indices


RULES = {
    "none": "",
    "no ReLU": "rounding moves it",
    "unsigned weights": "rounding moves it",
    "one head less": "rounding moves it",
    "no scale": "rounding moves it",
    "rounded": "rounding moves it",
    "next row's": "rounding moves it",
    "no number": "is nan",
    "one twice": "twice",
    "best but one": "10 of the largest scores are missing",
    "last missed": "10 of the largest scores are missing",
}


@pytest.mark.parametrize(("rule", "reason"), RULES.items())
def test_a_wrong_indexer_fails(rule, reason):
    inputs = drawn(SMALL)
    judgement = judged(SMALL, inputs, broken(rule, SMALL, inputs))
    assert judgement.passed == (rule == "none")
    assert reason in judgement.reason


def test_recall_is_judged_by_what_was_found():
    inputs = drawn(SMALL)
    w = replace(SMALL, recall=0.94)
    for semantics in ("indexer_recall", "indexer"):
        judgement = judged(w, inputs, broken("last missed", w, inputs), semantics)
        assert judgement.passed == (semantics == "indexer_recall")
    figures = judged(w, inputs, broken("last missed", w, inputs), "indexer_recall").figures
    assert figures["recall"] == pytest.approx(0.95)
    assert figures["worst_row"] == pytest.approx(0.95)
    more = replace(w, recall=0.96)
    assert not judged(more, inputs, broken("last missed", more, inputs), "indexer_recall").passed
    assert not judged(w, inputs, broken("no ReLU", w, inputs), "indexer_recall").passed


def test_rounding_may_decide_between_keys_that_it_cannot_tell_apart():
    """Two keys of equal score at the cutoff: either passes; a third, a little below, does not."""
    w = replace(SMALL, batch=1, rows=1)
    inputs = drawn(w)
    order = ranked(by_hand(w, inputs))[0, 0]
    last, refused = order[w.topk - 1], order[w.topk]
    assert not judged(w, inputs, broken("last missed", w, inputs)).passed
    inputs["keys"][0, refused] = inputs["keys"][0, last]
    assert judged(w, inputs, broken("none", w, inputs)).passed
    assert judged(w, inputs, broken("last missed", w, inputs)).passed
    inputs["keys"][0, refused] *= np.float32(1 - 2**-12)
    assert not judged(w, inputs, broken("last missed", w, inputs)).passed


@pytest.mark.jax
def test_a_score_moves_by_less_than_is_allowed():
    """Scores in f32, summed in three orders, stay within two of the deviations of which six are allowed."""
    w = replace(SMALL, head_dim=64, topk=299)
    inputs = drawn(w)
    q, k, weights = (inputs[name] for name in ("queries", "keys", "weights"))
    scale = np.float32((w.heads * w.head_dim) ** -0.5)
    one = np.einsum("brh,brhs->brs", weights, np.maximum(np.einsum("brhd,bsd->brhs", q, k), 0)) * scale
    running = np.maximum(np.cumsum(q[:, :, :, None] * k[:, None, None], -1)[..., -1], 0)
    running = np.cumsum(weights[..., None] * scale * running, 2)[:, :, -1]
    for scores in (one, running):
        assert scores.dtype == np.float32
        figures = judged(w, inputs, values_at(scores, ranked(scores)[..., : w.topk])).figures
        assert 0 < figures["largest_error_of_allowed"] < 2 / 6
    assert 0 < judged(w, inputs, call(indexer_exact, w, inputs)).figures["largest_error_of_allowed"] < 2 / 6


def test_scores_are_steps_of_heads_over_keys():
    w = replace(SMALL, batch=1)
    parts = (wide(drawn(w))[name][0] for name in ("queries", "keys", "weights"))
    np.testing.assert_allclose(scores_of(w, *parts), by_hand(w, drawn(w))[0], rtol=1e-12, atol=1e-14)
