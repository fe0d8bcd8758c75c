"""The topk family: its inputs, and what approximate selections lose, by theory and here."""

import math
from fractions import Fraction

import numpy as np
import pytest

from impls.topk._expected_recall import expected_recall
from impls.topk.approximate import radix_f16
from impls.topk.family import TopkWorkload
from tests.impls.judgements import assert_failed, assert_passed
from tests.impls.topk_case import draw, judged, on_jax
from tests.impls.variants import TOPK as V
from tests.impls.variants import labelled


def scores_of(distribution, rows, seq, topk):
    return draw(TopkWorkload(rows=rows, seq=seq, topk=topk, distribution=distribution))


def test_distributions_are_what_they_say():
    clustered = scores_of("clustered", 4, 4096, 64)
    best = np.sort(np.argpartition(clustered, -64, axis=-1)[..., -64:], axis=-1)
    assert (best[..., -1] - best[..., 0] == 63).all(), "the largest stand side by side"
    assert len(np.unique(best[..., 0])) > 1
    folded = scores_of("periodic", 2, 8192, 64).reshape(2, 4, 2048)
    assert np.abs(folded - folded.mean(axis=1, keepdims=True)).max() < 0.6, "every 2048 columns again"
    assert np.ptp(folded.mean(axis=1), axis=-1).min() > 1.8
    tied = scores_of("tied", 2, 4096, 64)
    assert np.array_equal(tied * 8, np.round(tied * 8)), "on a coarse grid"
    visible = np.isfinite(scores_of("causal", 8, 64, 16))[0]
    assert visible.sum(axis=-1).tolist() == [8 * (row + 1) for row in range(8)], "a growing prefix"
    assert not np.diff(visible.astype(int), axis=-1).max() > 0
    assert np.isfinite(scores_of("causal", 64, 8, 2)[0, 0, 0])


@pytest.mark.jax
def test_two_stage_loses_most_of_a_period_that_divides_its_buckets():
    w = TopkWorkload(rows=4, seq=65536, topk=2048, distribution="periodic")
    scores = draw(w)
    judgement = assert_failed(judged("recall", w, scores, on_jax(V.two_stage, w, scores)))
    assert judgement.figures["recall"] < 0.7
    assert "below the target 0.95" in judgement.reason


@pytest.mark.jax
@pytest.mark.parametrize(("buckets", "keep"), [(2048, 2), (4096, 1), (1024, 4), (16, 8)])
def test_two_stage_is_exact_where_nothing_can_be_lost(buckets, keep):
    """Every score kept, or at most `keep` of the largest in any bucket."""
    w = TopkWorkload(rows=3, seq=4096, topk=16, recall=0.5, distribution="clustered")
    scores = draw(w)
    assert_passed(judged("exact", w, scores, on_jax(V.two_stage, w, scores, buckets=buckets, keep=keep)))


@pytest.mark.jax
def test_two_stage_keeps_indices_apart_in_a_closed_row():
    w = TopkWorkload(rows=1, seq=64, topk=16, recall=0.5)
    values, indices = on_jax(V.two_stage, w, np.full((1, 1, 64), -np.inf, np.float32), buckets=8, keep=2)
    assert np.isneginf(values).all()
    assert len(np.unique(indices)) == 16


@pytest.mark.jax
@pytest.mark.parametrize(
    ("seq", "topk", "buckets", "keep"),
    [(8192, 64, 2048, 1), (8192, 64, 128, 2), (16384, 512, 256, 3), (8192, 128, 32, 8)],
)
def test_two_stage_recall_is_what_theory_says(seq, topk, buckets, keep):
    """Within four standard errors of the mean over rows, for unrolled and looped programs."""
    w = TopkWorkload(rows=256, seq=seq, topk=topk, recall=0.5)
    scores = draw(w)
    values, _ = on_jax(V.two_stage, w, scores, buckets=buckets, keep=keep)
    recall = (values >= np.partition(scores, -topk, axis=-1)[..., -topk, None]).mean(axis=-1)
    error = recall.std(ddof=1) / math.sqrt(recall.size)
    assert recall.min() < 1
    assert abs(recall.mean() - expected_recall(seq, topk, buckets, keep)) < 4 * error


@pytest.mark.parametrize(("seq", "topk", "buckets", "keep"), [(64, 60, 8, 7), (64, 8, 16, 1), (96, 12, 8, 3)])
def test_theory_agrees_with_rational_arithmetic(seq, topk, buckets, keep):
    size = seq // buckets
    missed = range(keep + 1, min(topk, size) + 1)
    lost = sum((n - keep) * math.comb(topk, n) * math.comb(seq - topk, size - n) for n in missed)
    want = 1 - Fraction(buckets, topk) * Fraction(lost, math.comb(seq, size))
    assert expected_recall(seq, topk, buckets, keep) == pytest.approx(float(want), abs=1e-12)


@pytest.mark.parametrize(
    ("seq", "topk", "keep", "buckets"),
    [(131072, 2048, 1, 32768), (131072, 2048, 2, 4096), (131072, 2048, 3, 2048), (8192, 64, 2, 128)],
)
def test_theory_finds_the_fewest_buckets_for_95_percent(seq, topk, keep, buckets):
    assert expected_recall(seq, topk, buckets, keep) >= 0.95
    assert expected_recall(seq, topk, buckets // 2, keep) < 0.95


@pytest.mark.jax
@pytest.mark.parametrize("label", ["approx", "approx_unaggregated", "approx_override[shards=4]"])
def test_the_operator_falls_back_to_the_exact_result_on_cpu(label):
    w = TopkWorkload(rows=4, seq=8192, topk=64, recall=0.5)
    scores = draw(w)
    variant, options = labelled("topk", label)
    assert_passed(judged("exact", w, scores, on_jax(variant, w, scores, **options)))


@pytest.mark.parametrize(("seq", "topk", "recall"), [(65536, 2048, 0.5298), (131072, 2048, 0.4910)])
def test_f16_keys_lose_what_theory_says(seq, topk, recall):
    """The first is the 0.53 that a kernel with such keys was reported to keep of real rows."""
    w = TopkWorkload(rows=24, seq=seq, topk=topk, distribution="narrow")
    assert radix_f16.expected_recall(w) == pytest.approx(recall, abs=5e-5)
    scores = draw(w)
    judgement = assert_failed(judged("recall", w, scores, radix_f16.radix_f16(w)(scores=scores)))
    assert radix_f16.radix_f16.expect.when(w)
    # Its eight deviations are an upper bound; half of them is strict enough.
    assert abs(judgement.figures["recall"] - recall) < 4 * math.sqrt(2 / (24 * topk))


@pytest.mark.parametrize("distribution", ["iid", "clustered", "periodic", "tied", "causal"])
def test_f16_keys_lose_little_of_normal_scores(distribution):
    w = TopkWorkload(rows=4, seq=4096, topk=512, distribution=distribution)
    scores = draw(w)
    judgement = assert_passed(judged("recall", w, scores, radix_f16.radix_f16(w)(scores=scores)))
    assert not radix_f16.radix_f16.expect.when(w)
    assert judgement.figures["recall"] > radix_f16.PROMISED
